#include "backends/cpu/attention_tasks.h"

#include <algorithm>

#include "backends/cpu/kv_layout.h"

namespace deltaserve {
namespace {

// Query vectors (rows x query heads of one kv head) of a row task: enough to use a split many times
// while it is in L2, few enough that a chunk of 512 rows gives every thread some tasks.
constexpr int64_t kRowTaskVectors = 64;
// On tiles a reading of the split is dearer beside the products.
constexpr int64_t kTileTaskVectors = 128;

// Tokens of the split that starts at `start` which the row at `position` sees; <= 0: none.
int64_t seen(int64_t position, int64_t start) {
  return std::min(position + 1 - start, kAttentionSplit);
}

}  // namespace

AttentionTasks::AttentionTasks(const CpuContext& context, const AttentionArgs& args)
    : context_(context),
      args_(args),
      batch_(*args.batch),
      functions_(attention_functions(context.isa)),
      on_tiles_(attention_on_tiles(context, args.head_dim)),
      group_(on_tiles_ ? kAttentionTileGroup : kAttentionGroup),
      x_bytes_(dtype_size(context.compute_dtype)),
      queries_per_kv_(args.num_heads / args.num_kv_heads),
      rows_per_task_(std::max<int64_t>(
          1, (on_tiles_ ? kTileTaskVectors : kRowTaskVectors) / queries_per_kv_)) {}

size_t AttentionTasks::thread_scratch_bytes(const AttentionArgs& args) {
  const int64_t vectors = std::max<int64_t>(kTileTaskVectors, args.num_heads / args.num_kv_heads);
  const int64_t floats = 2 * vectors * args.head_dim +            // queries, outputs
                         kAttentionTileGroup * args.head_dim +    // a split's outputs
                         kAttentionTileGroup * kAttentionSplit +  // scores
                         4 * vectors + 2 * kAttentionTileGroup +  // states
                         attention_tile_scratch(args.head_dim) +
                         kAttentionSplit * args.head_dim / 2;  // values
  return static_cast<size_t>(floats) * sizeof(float);
}

// Scratch of one thread, carved from its memory.
struct AttentionTasks::Scratch {
  float* q = nullptr;                      // [vectors, head_dim]
  float* out = nullptr;                    // [vectors, head_dim]
  float* partial = nullptr;                // [group, head_dim]
  float* scores = nullptr;                 // [group, kAttentionSplit]
  uint16_t* tiles = nullptr;               // attention_tile_scratch
  uint16_t* values = nullptr;              // [kAttentionSplit, head_dim]
  SoftmaxState* states = nullptr;          // [vectors]
  SoftmaxState* partial_states = nullptr;  // [group]
};

AttentionTasks::Scratch AttentionTasks::scratch_of(int32_t thread) const {
  const int64_t vectors = rows_per_task_ * queries_per_kv_;
  float* memory = context_.thread_scratch<float>(thread);
  Scratch scratch;
  scratch.q = memory;
  scratch.out = scratch.q + vectors * args_.head_dim;
  scratch.partial = scratch.out + vectors * args_.head_dim;
  scratch.scores = scratch.partial + group_ * args_.head_dim;
  float* tiles = scratch.scores + group_ * kAttentionSplit;
  scratch.tiles = reinterpret_cast<uint16_t*>(tiles);
  float* values = tiles + attention_tile_scratch(args_.head_dim) / 2;
  scratch.values = reinterpret_cast<uint16_t*>(values);
  scratch.states = reinterpret_cast<SoftmaxState*>(values + kAttentionSplit * args_.head_dim / 2);
  scratch.partial_states = scratch.states + vectors;
  return scratch;
}

const std::byte* AttentionTasks::query_pointer(const void* base, int64_t row, int64_t head) const {
  return static_cast<const std::byte*>(base) +
         (row * args_.q_stride + head * args_.q_head_stride) * x_bytes_;
}

// Vector i of a task: row first_row + i / queries_per_kv, head kv_head * queries_per_kv + rest.
void AttentionTasks::load_queries(int64_t first_row, int64_t kv_head, int64_t count,
                                  float* q) const {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t head = kv_head * queries_per_kv_ + i % queries_per_kv_;
    functions_.load_query(context_.compute_dtype,
                          query_pointer(args_.q, first_row + i / queries_per_kv_, head),
                          args_.head_dim, q + i * args_.head_dim);
  }
}

void AttentionTasks::finish_vector(int64_t first_row, int64_t kv_head, int64_t i,
                                   const SoftmaxState& state, const float* out) const {
  const int64_t row = first_row + i / queries_per_kv_;
  const int64_t head = kv_head * queries_per_kv_ + i % queries_per_kv_;
  functions_.finish(context_.compute_dtype, state, out, query_pointer(args_.gate, row, head),
                    args_.head_dim,
                    static_cast<std::byte*>(args_.out) +
                        (row * args_.out_stride + head * args_.head_dim) * x_bytes_);
}

// What all vectors share of split `index`.
AttentionSplit AttentionTasks::split_of(const Item& item, int64_t index) const {
  const int64_t head_elements = 2 * kv_head_elements(args_.head_dim);
  AttentionSplit split;
  split.blocks = batch_.block_tables + item.seq * batch_.max_blocks_per_seq +
                 index * (kAttentionSplit / kBlockSize);
  split.kv_cache =
      static_cast<const std::byte*>(args_.kv_cache) + item.kv_head * head_elements * x_bytes_;
  split.block_stride = args_.num_kv_heads * head_elements;
  split.head_dim = args_.head_dim;
  split.scale = args_.scale;
  return split;
}

// Vectors [first, first + count) (count <= group_) of a task whose row 0 is at
// `position`, against split `index`.
void AttentionTasks::run_group(AttentionSplit split, int64_t position, int64_t index, int64_t first,
                               int64_t count, const AttentionValues& values, const Scratch& scratch,
                               SoftmaxState* states, float* out) const {
  int64_t lengths[kAttentionTileGroup];
  for (int64_t m = 0; m < count; ++m) {
    lengths[m] = seen(position + (first + m) / queries_per_kv_, index * kAttentionSplit);
  }
  split.count = count;
  split.q = scratch.q + first * args_.head_dim;
  split.lengths = lengths;
  split.scores = scratch.scores;
  split.states = states;
  split.out = out;
  if (on_tiles_) {
    attention_split_tiles(context_, split, values, scratch.tiles);
  } else {
    functions_.split(context_.compute_dtype, split);
  }
}

void AttentionTasks::run_rows(const Item& item, int64_t row_block, int32_t thread) const {
  const Scratch scratch = scratch_of(thread);
  const int64_t row0 = row_block * rows_per_task_;
  const int64_t rows = std::min(rows_per_task_, rows_of(item.seq) - row0);
  const int64_t first_row = batch_.cu_seqlens[item.seq] + row0;
  const int64_t position = batch_.context_lens[item.seq] + row0;
  const int64_t vectors = rows * queries_per_kv_;
  load_queries(first_row, item.kv_head, vectors, scratch.q);
  for (int64_t index = 0; index * kAttentionSplit < position + rows; ++index) {
    const int64_t start = index * kAttentionSplit;
    // Rows before the split see nothing of it.
    const int64_t begin = std::max<int64_t>(0, start - position) * queries_per_kv_;
    const AttentionSplit split = split_of(item, index);
    AttentionValues values;
    if (on_tiles_ && vectors - begin > group_) {
      values.data = scratch.values;
      attention_pack_split(context_, split, seen(position + rows - 1, start), values);
    }
    for (int64_t first = begin; first < vectors; first += group_) {
      const int64_t count = std::min(group_, vectors - first);
      const bool starts = index == 0;
      run_group(split, position, index, first, count, values, scratch,
                starts ? scratch.states + first : scratch.partial_states,
                starts ? scratch.out + first * args_.head_dim : scratch.partial);
      for (int64_t m = 0; m < count && !starts; ++m) {
        functions_.merge(scratch.states[first + m], scratch.out + (first + m) * args_.head_dim,
                         scratch.partial_states[m], scratch.partial + m * args_.head_dim,
                         args_.head_dim);
      }
    }
  }
  for (int64_t i = 0; i < vectors; ++i) {
    finish_vector(first_row, item.kv_head, i, scratch.states[i], scratch.out + i * args_.head_dim);
  }
}

void AttentionTasks::run_split(const Item& item, int64_t index, float* partial,
                               int32_t thread) const {
  const Scratch scratch = scratch_of(thread);
  const int64_t first_row = batch_.cu_seqlens[item.seq];
  const int64_t position = batch_.context_lens[item.seq];
  const int64_t vectors = rows_of(item.seq) * queries_per_kv_;
  load_queries(first_row, item.kv_head, vectors, scratch.q);
  auto* states = reinterpret_cast<SoftmaxState*>(partial + vectors * args_.head_dim);
  const int64_t begin = std::max<int64_t>(0, index * kAttentionSplit - position) * queries_per_kv_;
  for (int64_t first = begin; first < vectors; first += group_) {
    const int64_t count = std::min(group_, vectors - first);
    run_group(split_of(item, index), position, index, first, count, {}, scratch, states + first,
              partial + first * args_.head_dim);
  }
}

void AttentionTasks::merge(const Item& item, float* partials) const {
  const int64_t vectors = rows_of(item.seq) * queries_per_kv_;
  const int64_t stride = partial_floats(item.seq);
  const auto state_of = [&](int64_t index, int64_t i) -> SoftmaxState& {
    float* states = partials + index * stride + vectors * args_.head_dim;
    return reinterpret_cast<SoftmaxState*>(states)[i];
  };
  for (int64_t i = 0; i < vectors; ++i) {
    const int64_t position = batch_.context_lens[item.seq] + i / queries_per_kv_;
    float* out = partials + i * args_.head_dim;
    for (int64_t index = 1; index * kAttentionSplit <= position; ++index) {
      functions_.merge(state_of(0, i), out, state_of(index, i), out + index * stride,
                       args_.head_dim);
    }
    finish_vector(batch_.cu_seqlens[item.seq], item.kv_head, i, state_of(0, i), out);
  }
}

}  // namespace deltaserve
