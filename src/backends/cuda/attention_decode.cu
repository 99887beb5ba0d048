// attention of decoded rows (and of their replay), bfloat16, heads of 256: split over the KV
// length, bound by the reading of the cache.
//
// A warp takes whole KV blocks, each of which one bulk copy of 16 KiB brings into its own ring, and
// keeps a running softmax (attention_block.cuh); warps meet once an item.
// A split's result goes to scratch and the last thread block to finish a row and head merges the
// splits in order, divides, and applies the gate. Blocks that earlier steps wrote are fetched
// before the kernel before this one has ended.
#include <algorithm>

#include "backends/cuda/attention_block.cuh"
#include "backends/cuda/attention_kernels.h"
#include "backends/cuda/attention_splits.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {
namespace {

constexpr int kThreads = kDecodeWarps * kWarp;
constexpr int kTileFloats = kHeadDim * kColumns;            // O^T of one tile of heads
constexpr int kValues = kTileFloats / kThreads;             // of which a thread merges 16
constexpr int kPartialFloats = kTileFloats + 2 * kColumns;  // O^T, maxima, sums

// Tiles of 8 query heads; ring stages of a warp, as many as shared memory has room for.
template <int kTiles>
constexpr int kStages = kTiles == 1 ? 3 : 2;

template <int kTiles>
struct DecodeShared {
  alignas(128) std::byte ring[kDecodeWarps][kStages<kTiles>][2 * kHalfBytes];
  float sums[kDecodeWarps][kTiles][kTileFloats];  // [256][8 heads]
  float largest[kDecodeWarps][kTiles][kColumns];
  float totals[kDecodeWarps][kTiles][kColumns];
  uint64_t landed[kDecodeWarps][kStages<kTiles>];
  int arrived;
};

struct DecodeParams {
  AttentionArgs args;
  BatchView batch;
  float scale_log2;
  float* partials;    // [rows][kv heads][kMaxSplits][tiles][kPartialFloats]
  int32_t* counters;  // [rows][kv heads], zero between launches
};

// The softmax state of one head in one thread: its 16 dimensions of O, in units of 2^largest.
struct HeadSum {
  float largest;
  float total;
  float values[kValues];

  // Adds a later part of the keys.
  __device__ void merge(const HeadSum& part) {
    const float now = fmaxf(largest, part.largest);
    const float keep = exp2_fast(largest - now);
    const float take = exp2_fast(part.largest - now);
    largest = now;
    // Fused where it says so: two places that inline this must give the same bits.
    total = __fmaf_rn(total, keep, __fmul_rn(part.total, take));
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      values[i] = __fmaf_rn(values[i], keep, __fmul_rn(part.values[i], take));
    }
  }
};

// Sums the warps' results in warp order. Thread i gets head i % 8 of each tile, dimensions i / 8 +
// 16 j.
template <int kTiles>
__device__ void merge_warps(DecodeShared<kTiles>& shared, WarpSum<kTiles>& sum,
                            HeadSum (&merged)[kTiles]) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int column = lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int offset = 4; offset < kWarp; offset *= 2) {
        sum.total[n][i] += __shfl_xor_sync(kAllLanes, sum.total[n][i], offset);
      }
      if (lane < 4) {
        shared.largest[warp][n][column + i] = sum.largest[n][i];
        shared.totals[warp][n][column + i] = sum.total[n][i];
      }
    }
#pragma unroll
    for (int m = 0; m < kHeadDim / 16; ++m) {
      float* to = &shared.sums[warp][n][(m * 16 + lane / 4) * kColumns + column];
      *reinterpret_cast<float2*>(to) = make_float2(sum.out[n][m][0], sum.out[n][m][1]);
      *reinterpret_cast<float2*>(to + 8 * kColumns) =
          make_float2(sum.out[n][m][2], sum.out[n][m][3]);
    }
  }
  __syncthreads();
  const int head = static_cast<int>(threadIdx.x) % kColumns;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    float largest = shared.largest[0][n][head];
#pragma unroll
    for (int w = 1; w < kDecodeWarps; ++w) {
      largest = fmaxf(largest, shared.largest[w][n][head]);
    }
    HeadSum& head_sum = merged[n];
    head_sum.largest = largest;
    head_sum.total = 0.0F;
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      head_sum.values[i] = 0.0F;
    }
#pragma unroll
    for (int w = 0; w < kDecodeWarps; ++w) {
      const float take = exp2_fast(shared.largest[w][n][head] - largest);
      head_sum.total += shared.totals[w][n][head] * take;
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        head_sum.values[i] += shared.sums[w][n][threadIdx.x + i * kThreads] * take;
      }
    }
  }
  __syncthreads();
}

// A split's result in scratch.
__device__ __forceinline__ void store_partial(float* to, const HeadSum& sum) {
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    __stcg(to + threadIdx.x + i * kThreads, sum.values[i]);
  }
  if (threadIdx.x < kColumns) {
    __stcg(to + kTileFloats + threadIdx.x, sum.largest);
    __stcg(to + kTileFloats + kColumns + threadIdx.x, sum.total);
  }
}
__device__ __forceinline__ HeadSum load_partial(const float* from) {
  const int head = static_cast<int>(threadIdx.x) % kColumns;
  HeadSum sum;
  sum.largest = __ldcg(from + kTileFloats + head);
  sum.total = __ldcg(from + kTileFloats + kColumns + head);
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    sum.values[i] = __ldcg(from + threadIdx.x + i * kThreads);
  }
  return sum;
}

// Divides, applies the gate and stores a row's heads of one kv head.
template <int kTiles>
__device__ void finish(DecodeShared<kTiles>& shared, const AttentionArgs& args, int64_t t,
                       int kv_head, const HeadSum (&sums)[kTiles]) {
  const int group = args.num_heads / args.num_kv_heads;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      shared.sums[0][n][threadIdx.x + i * kThreads] = sums[n].values[i] / sums[n].total;
    }
  }
  __syncthreads();
  constexpr int kPieces = kHeadDim / 8;
  for (int i = static_cast<int>(threadIdx.x); i < group * kPieces; i += kThreads) {
    const int head = i / kPieces;
    const int dim = i % kPieces * 8;
    const int64_t query_head = int64_t{kv_head} * group + head;
    float out[8];
    load(static_cast<const bf16*>(args.gate) + t * args.q_stride + query_head * args.q_head_stride +
             dim,
         out);
#pragma unroll
    for (int d = 0; d < 8; ++d) {
      const float mean = shared.sums[0][head / kColumns][(dim + d) * kColumns + head % kColumns];
      out[d] = mean * sigmoid(out[d]);
    }
    store(static_cast<bf16*>(args.out) + t * args.out_stride + query_head * kHeadDim + dim, out);
  }
  __syncthreads();
}

// Adds a split to those of its row and head; true in the block that brought the last one, whose
// `sums` are then the row's.
template <int kTiles>
__device__ bool merge_splits(DecodeShared<kTiles>& shared, const DecodeParams& params,
                             const DecodeItem& item, HeadSum (&sums)[kTiles]) {
  const int splits = item.row_splits();
  if (splits == 1) {
    return true;
  }
  const int64_t row_head = int64_t{item.rank} * params.args.num_kv_heads + item.head;
  float* row_partials = params.partials + row_head * kMaxSplits * kTiles * kPartialFloats;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    store_partial(row_partials + (item.split * kTiles + n) * kPartialFloats, sums[n]);
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    shared.arrived = atomicAdd(params.counters + row_head, 1);
  }
  __syncthreads();
  if (shared.arrived != splits - 1) {
    return false;
  }
  __threadfence();
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    sums[n] = load_partial(row_partials + n * kPartialFloats);
#pragma unroll 4
    for (int split = 1; split < splits; ++split) {
      sums[n].merge(load_partial(row_partials + (split * kTiles + n) * kPartialFloats));
    }
  }
  if (threadIdx.x == 0) {
    params.counters[row_head] = 0;
  }
  return true;
}

// A warp's way through the KV blocks of the items of its thread block, in which copies run ahead.
struct BlockCursor {
  DecodeItem item;
  int items_left;
  int block;

  // Moves to a block that is there, over items if need be; false at the end.
  __device__ bool settle(const BatchView& batch, int num_kv_heads, bool whole) {
    while (block >= item.end_block()) {
      items_left -= !whole || item.split == item.splits - 1 ? 1 : 0;
      if (items_left == 0) {
        return false;
      }
      advance(item, batch, num_kv_heads);
      block = item.first_block() + static_cast<int>(threadIdx.x) / kWarp;
    }
    return true;
  }
};

// A thread block's run of items.
template <int kTiles>
__device__ void attend_items(DecodeShared<kTiles>& shared, const DecodeParams& params) {
  const AttentionArgs& args = params.args;
  const BatchView& batch = params.batch;
  const int num_kv_heads = args.num_kv_heads;
  const DecodePlan plan = plan_items(batch, num_kv_heads);
  const bool whole = plan.whole;
  const int64_t units = plan.units;
  const auto first = static_cast<int>(units * blockIdx.x / gridDim.x);
  const auto end = static_cast<int>(units * (blockIdx.x + 1) / gridDim.x);
  if (first == end) {
    return;
  }
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const uint32_t landed = shared_address(shared.landed[warp]);
  if (lane == 0) {
    for (int i = 0; i < kStages<kTiles>; ++i) {
      mbarrier_init(landed + 8 * i, 1);
    }
    mbarrier_init_fence();
  }
  __syncwarp();

  DecodeItem item = find_item(batch, num_kv_heads, first, whole);
  BlockCursor ahead{item, end - first, item.first_block() + warp};
  bool more = ahead.settle(batch, num_kv_heads, whole);
  const auto start_copy = [&](int stage) {
    if (!more) {
      return;
    }
    if (lane == 0) {
      if ((ahead.block + 1) * kBlockSize > ahead.item.context) {
        wait_for_previous();  // the block holds keys of this step
      }
      const int64_t block =
          batch.block_tables[int64_t{ahead.item.sequence} * batch.max_blocks_per_seq + ahead.block];
      mbarrier_arrive_expect(landed + 8 * stage, 2 * kHalfBytes);
      bulk_load(shared_address(shared.ring[warp][stage]),
                static_cast<const bf16*>(args.kv_cache) +
                    kv_base(block, false, ahead.item.head, num_kv_heads, kHeadDim),
                2 * kHalfBytes, landed + 8 * stage);
    }
    ahead.block += kDecodeWarps;
    more = ahead.settle(batch, num_kv_heads, whole);
  };
  for (int i = 0; i < kStages<kTiles>; ++i) {
    start_copy(i);
  }

  wait_for_previous();
  int stage = 0;
  uint32_t parity = 0;
  uint32_t query[kTiles][kHeadDim / 16][2];
  HeadSum row_sums[kTiles];  // whole: of the splits so far
  int query_row = -1;
  for (int left = end - first;;) {
    const int64_t t = batch.cu_seqlens[item.sequence] + item.row;
    const int row_head = item.rank * num_kv_heads + item.head;
    const int end_block = item.end_block();
    if (item.first_block() < end_block) {
      if (row_head != query_row) {
        load_query<kTiles>(args, t, item.head, query);
        query_row = row_head;
      }
      WarpSum<kTiles> sum;
      sum.reset();
      for (int block = item.first_block() + warp; block < end_block; block += kDecodeWarps) {
        mbarrier_wait(landed + 8 * stage, parity);
        const int valid = min(kBlockSize, item.position() + 1 - block * kBlockSize);
        if (valid < kBlockSize) {
          clear_values(shared.ring[warp][stage], valid);
        }
        add_block<kTiles>(shared_address(shared.ring[warp][stage]), valid, params.scale_log2, query,
                          sum);
        __syncwarp();
        start_copy(stage);
        stage = stage + 1 == kStages<kTiles> ? 0 : stage + 1;
        parity ^= stage == 0 ? 1U : 0U;
      }
      HeadSum sums[kTiles];
      merge_warps<kTiles>(shared, sum, sums);
      if (whole) {
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
          if (item.split == 0) {
            row_sums[n] = sums[n];
          } else {
            row_sums[n].merge(sums[n]);
          }
        }
        if (item.split == item.row_splits() - 1) {
          finish<kTiles>(shared, args, t, item.head, row_sums);
        }
      } else if (merge_splits<kTiles>(shared, params, item, sums)) {
        finish<kTiles>(shared, args, t, item.head, sums);
      }
    }
    left -= !whole || item.split == item.splits - 1 ? 1 : 0;
    if (left == 0) {
      return;
    }
    advance(item, batch, num_kv_heads);
  }
}

template <int kTiles>
__global__ void __launch_bounds__(kThreads) attention_decode_kernel(DecodeParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    attend_items<kTiles>(*reinterpret_cast<DecodeShared<kTiles>*>(memory), params);
  }
}

// Floats of the partial results of a step of `tokens`.
int64_t partial_floats(int64_t tokens, int32_t num_kv_heads, int32_t tiles) {
  const int64_t rows = std::min<int64_t>(kMaxSplitRows, tokens);
  return rows * num_kv_heads * kMaxSplits * tiles * kPartialFloats;
}

// Of eight query heads each, that share a kv head.
int32_t tiles_of(int32_t num_heads, int32_t num_kv_heads) {
  return num_heads / num_kv_heads <= kColumns ? 1 : 2;
}

template <int kTiles>
void launch_tiles(CudaContext& context, const AttentionArgs& args) {
  const int64_t partials =
      partial_floats(std::max<int64_t>(args.batch->num_tokens, context.limits.max_tokens),
                     args.num_kv_heads, kTiles);
  const DecodeParams params{
      .args = args,
      .batch = *args.batch,
      .scale_log2 = args.scale * 1.44269504F,  // log2(e): the softmax is taken in base 2
      .partials = context.scratch<float>(static_cast<size_t>(partials) * sizeof(float)),
      .counters = context.zeros(static_cast<size_t>(kMaxSplitRows * args.num_kv_heads))};
  constexpr size_t kShared = sizeof(DecodeShared<kTiles>);
  allow_shared(attention_decode_kernel<kTiles>, kShared);
  launch_early(context, attention_decode_kernel<kTiles>,
               {.grid = dim3(static_cast<unsigned>(context.device.num_sms)),
                .block = dim3(kThreads),
                .shared_bytes = kShared},
               params);
}

}  // namespace

void launch_attention_decode(CudaContext& context, const AttentionArgs& args) {
  if (tiles_of(args.num_heads, args.num_kv_heads) == 1) {
    launch_tiles<1>(context, args);
  } else {
    launch_tiles<2>(context, args);
  }
}

int64_t attention_decode_scratch_bytes(const StepLimits& limits) {
  const ModelShape& model = limits.model;
  return partial_floats(limits.max_tokens, model.num_kv_heads,
                        tiles_of(model.num_heads, model.num_kv_heads)) *
         int64_t{sizeof(float)};
}

}  // namespace deltaserve::cuda
