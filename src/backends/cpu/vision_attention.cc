// vision_attention: both products run on the matrix kernels of linear. For some heads at a time,
// all keys and values are packed into panels in the shared scratch; then blocks of query rows walk
// over the blocks of keys of their segment with a running softmax. Blocks of keys begin at fixed
// places of the segment, so a row's bits do not depend on which rows are computed with it.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "backends/cpu/kernels.h"
#include "backends/cpu/panel_matrix.h"
#include "backends/cpu/threads.h"
#include "backends/cpu/vision_attention_rows.h"
#include "backends/cpu/vision_ops.h"
#include "base/check.h"

namespace deltaserve {
namespace {

// Query rows of a task: enough to use a block of keys several times while it is in L2, few enough
// that a picture of 256 patches gives each of 16 heads three tasks.
constexpr int64_t kQueryBlock = 96;

// Packed keys and values of the heads that are worked on together; one head may need more.
constexpr int64_t kPackedBytes = int64_t{16} << 20;

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Keys and values of one head, packed.
int64_t packed_head_bytes(int64_t padded_keys, int64_t head_dim, DType x_dtype) {
  return 2 * padded_keys * round_up(head_dim, kPanelColumns) * dtype_size(x_dtype);
}

// Heads that are worked on together.
int64_t heads_of_group(int64_t head_bytes, int64_t num_heads) {
  return std::clamp<int64_t>(kPackedBytes / std::max<int64_t>(1, head_bytes), 1, num_heads);
}

class VisionAttention {
 public:
  VisionAttention(CpuContext& context, const VisionAttentionArgs& args)
      : context_(context),
        args_(args),
        functions_(vision_attention_functions(context.isa)),
        kernels_(context.compute_dtype == DType::kBF16 ? context.kernels->short_bf16
                                                       : context.kernels->f32),
        tile_rows_(context.kernels->max_rows),
        x_bytes_(dtype_size(context.compute_dtype)),
        padded_dim_(round_up(args.head_dim, kPanelColumns)) {
    for (int64_t s = 0; s < args.num_segments; ++s) {
      padded_keys_ += round_up(keys_of(s), kPanelColumns);
    }
    head_bytes_ = packed_head_bytes(padded_keys_, args.head_dim, context.compute_dtype);
    group_ = heads_of_group(head_bytes_, args.num_heads);
  }

  void run() {
    context_.require_thread_scratch(static_cast<size_t>(scratch_floats()) * sizeof(float));
    context_.require_shared_scratch(static_cast<size_t>(group_ * head_bytes_));
    for (int64_t head = 0; head < args_.num_heads; head += group_) {
      const int64_t heads = std::min<int64_t>(group_, args_.num_heads - head);
      const auto over = [&](bool keys, auto&& task) {
        const int64_t per_head = units(keys);
        parallel_dynamic(context_.threads, heads * per_head, [&](int64_t i, int32_t thread) {
          task(head + i / per_head, i / per_head, place_of(i % per_head, keys), thread);
        });
      };
      over(true, [&](int64_t h, int64_t slot, const Place& place, int32_t) {
        pack_block(h, slot, place);
      });
      over(false, [&](int64_t h, int64_t slot, const Place& place, int32_t thread) {
        query_task(h, slot, place, context_.thread_scratch<float>(thread));
      });
    }
  }

 private:
  // A block of keys or of query rows of a segment.
  struct Place {
    int64_t segment = 0;
    int64_t block = 0;
    int64_t padded_first = 0;  // of the segment's keys among all, each segment padded
  };

  int64_t keys_of(int64_t s) const { return args_.cu_keys[s + 1] - args_.cu_keys[s]; }
  int64_t queries_of(int64_t s) const { return args_.cu_queries[s + 1] - args_.cu_queries[s]; }
  int64_t units_of(int64_t s, bool keys) const {
    return keys ? ceil_div(keys_of(s), kVisionKeyBlock) : ceil_div(queries_of(s), kQueryBlock);
  }
  int64_t units(bool keys) const {
    int64_t sum = 0;
    for (int64_t s = 0; s < args_.num_segments; ++s) {
      sum += units_of(s, keys);
    }
    return sum;
  }
  Place place_of(int64_t unit, bool keys) const {
    Place place;
    for (; unit >= units_of(place.segment, keys); ++place.segment) {
      unit -= units_of(place.segment, keys);
      place.padded_first += round_up(keys_of(place.segment), kPanelColumns);
    }
    place.block = unit;
    return place;
  }

  // Panels of K, then of V, of a block of keys; `slot` is the head's place in the group.
  std::byte* panels_of(int64_t slot, const Place& place, int64_t block) const {
    const int64_t first = place.padded_first + block * kVisionKeyBlock;
    return context_.shared_scratch<std::byte>() + slot * head_bytes_ +
           first * 2 * padded_dim_ * x_bytes_;
  }
  int64_t keys_in_block(const Place& place, int64_t block) const {
    return std::min(kVisionKeyBlock, keys_of(place.segment) - block * kVisionKeyBlock);
  }
  const std::byte* element(const void* base, int64_t row, int64_t stride, int64_t head) const {
    return static_cast<const std::byte*>(base) + (row * stride + head * args_.head_dim) * x_bytes_;
  }

  int64_t tile_sums() const { return padded_dim_ * tile_rows_; }
  int64_t scratch_floats() const {
    return kQueryBlock * (args_.head_dim + 1) +        // packed queries
           3 * kVisionKeyBlock * tile_rows_ +          // scores, weights, packed weights
           (kQueryBlock + tile_rows_) * padded_dim_ +  // sums
           2 * kQueryBlock + tile_rows_;               // softmax states, factors
  }

  void pack_block(int64_t head, int64_t slot, const Place& place) const;
  void query_task(int64_t head, int64_t slot, const Place& place, float* scratch) const;

  CpuContext& context_;
  const VisionAttentionArgs& args_;
  VisionAttentionFunctions functions_;
  const MatrixKernels& kernels_;
  int64_t tile_rows_;
  int64_t x_bytes_;
  int64_t padded_dim_;       // head_dim in whole panels
  int64_t padded_keys_ = 0;  // keys of all segments, each in whole panels
  int64_t head_bytes_ = 0;   // packed keys and values of one head
  int64_t group_ = 1;        // heads packed at a time
};

void VisionAttention::pack_block(int64_t head, int64_t slot, const Place& place) const {
  const int64_t first = args_.cu_keys[place.segment] + place.block * kVisionKeyBlock;
  VisionRows rows;
  rows.stride = args_.kv_stride;
  rows.count = keys_in_block(place, place.block);
  rows.head_dim = args_.head_dim;
  std::byte* panels = panels_of(slot, place, place.block);
  rows.data = element(args_.k, first, args_.kv_stride, head);
  pack_vision_keys(context_.compute_dtype, rows, panels);
  rows.data = element(args_.v, first, args_.kv_stride, head);
  pack_vision_values(context_.compute_dtype, rows,
                     panels + round_up(rows.count, kPanelColumns) * padded_dim_ * x_bytes_);
}

void VisionAttention::query_task(int64_t head, int64_t slot, const Place& place,
                                 float* scratch) const {
  const int64_t first = args_.cu_queries[place.segment] + place.block * kQueryBlock;
  const int64_t count =
      std::min(kQueryBlock, queries_of(place.segment) - place.block * kQueryBlock);
  float* queries = scratch;
  float* scores = queries + kQueryBlock * (args_.head_dim + 1);
  float* weights = scores + kVisionKeyBlock * tile_rows_;
  float* packed_weights = weights + kVisionKeyBlock * tile_rows_;
  float* sums = packed_weights + kVisionKeyBlock * tile_rows_;
  auto* states = reinterpret_cast<SoftmaxState*>(sums + (kQueryBlock + tile_rows_) * padded_dim_);
  float* rescale = reinterpret_cast<float*>(states + kQueryBlock);
  const int64_t tiles = ceil_div(count, tile_rows_);
  const auto tile_of = [&](int64_t t) { return split_range(count, tiles, t); };
  const int64_t query_bytes = round_up(args_.head_dim, 2) * kernels_.packed_element_bytes;
  for (int64_t t = 0; t < tiles; ++t) {
    const IndexRange rows = tile_of(t);
    kernels_.pack(element(args_.q, first + rows.begin, args_.q_stride, head), args_.q_stride,
                  rows.end - rows.begin, args_.head_dim,
                  reinterpret_cast<std::byte*>(queries) + rows.begin * query_bytes);
  }
  std::fill_n(sums, count * padded_dim_, 0.0F);
  std::fill_n(states, count,
              SoftmaxState{.largest = -std::numeric_limits<float>::infinity(), .sum = 0.0F});
  for (int64_t b = 0; b < units_of(place.segment, true); ++b) {
    const int64_t keys = keys_in_block(place, b);
    const int64_t padded = round_up(keys, kPanelColumns);
    const std::byte* k_panels = panels_of(slot, place, b);
    const std::byte* v_panels = k_panels + padded * padded_dim_ * x_bytes_;
    for (int64_t t = 0; t < tiles; ++t) {
      const IndexRange range = tile_of(t);
      const int64_t rows = range.end - range.begin;
      GemmTile tile;
      tile.rows = rows;
      tile.a = reinterpret_cast<std::byte*>(queries) + range.begin * query_bytes;
      tile.k = round_up(args_.head_dim, 2);
      for (int64_t p = 0; p < padded / kPanelColumns; ++p) {
        tile.panel = k_panels + p * padded_dim_ * kPanelColumns * x_bytes_;
        tile.c = scores + p * rows * kPanelColumns;
        kernels_.multiply(tile);
      }
      functions_.softmax(context_.compute_dtype, {.scores = scores,
                                                  .rows = rows,
                                                  .keys = keys,
                                                  .scale = args_.scale,
                                                  .states = states + range.begin,
                                                  .rescale = rescale,
                                                  .weights = weights});
      kernels_.pack(weights, kVisionKeyBlock, rows, round_up(keys, 2), packed_weights);
      tile.a = packed_weights;
      tile.k = round_up(keys, 2);
      tile.accumulate = true;
      for (int64_t p = 0; p < padded_dim_ / kPanelColumns; ++p) {
        tile.panel = v_panels + p * padded * kPanelColumns * x_bytes_;
        tile.c = sums + range.begin * padded_dim_ + p * rows * kPanelColumns;
        context_.kernels->scale_rows(tile.c, rows, rescale);
        kernels_.multiply(tile);
      }
    }
  }
  for (int64_t t = 0; t < tiles; ++t) {
    const IndexRange range = tile_of(t);
    auto* out = static_cast<std::byte*>(args_.out) +
                ((first + range.begin) * args_.out_stride + head * args_.head_dim) * x_bytes_;
    functions_.finish(context_.compute_dtype, sums + range.begin * padded_dim_,
                      range.end - range.begin, args_.head_dim, states + range.begin, out,
                      args_.out_stride);
  }
}

}  // namespace

int64_t cpu_vision_scratch_bytes(DType x_dtype, const StepLimits& limits) {
  const VisionShape& shape = limits.vision;
  if (limits.max_frame_patches == 0 || shape.num_heads == 0) return 0;
  // One frame of the largest size, or small ones of a single patch each, which is a whole panel.
  const int64_t keys = std::max(round_up(limits.max_frame_patches, kPanelColumns),
                                limits.max_vision_rows * kPanelColumns);
  const int64_t head = packed_head_bytes(keys, shape.head_dim, x_dtype);
  return std::min(shape.num_heads * head, std::max(kPackedBytes, head));
}

Result<void> check_cpu_vision_shape(const VisionShape& shape) {
  if (shape.head_dim <= 0 || shape.head_dim % 4 != 0) {
    return invalid(
        "the vision tower's head size must be a multiple of 4: a quarter of it is turned "
        "by each half of a patch's row and column");
  }
  return {};
}

void cpu_vision_attention(CpuContext& context, const VisionAttentionArgs& args) {
  DS_CHECK(args.head_dim % 4 == 0);
  if (args.num_segments > 0) {
    VisionAttention(context, args).run();
  }
}

}  // namespace deltaserve
