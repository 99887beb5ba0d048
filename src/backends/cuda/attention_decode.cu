// attention of decoded rows (and of their replay), bfloat16, heads of 256: split over the KV
// length, bound by the reading of the cache.
//
// A warp takes whole KV blocks, each of which one bulk copy of 16 KiB brings into its own ring, and
// keeps a running softmax (attention_block.cuh); warps meet once an item (attention_merge.cuh).
// Splits' results go to scratch, where all thread blocks merge them in order, divide, and apply the
// gate (attention_slices.cuh). Blocks that earlier steps wrote are fetched
// before the kernel before this one has ended.
#include <algorithm>

#include "backends/cuda/attention_block.cuh"
#include "backends/cuda/attention_kernels.h"
#include "backends/cuda/attention_merge.cuh"
#include "backends/cuda/attention_slices.cuh"
#include "backends/cuda/attention_splits.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {
namespace {

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
__device__ void attend_items(DecodeShared<kTiles>& shared, const DecodeParams& params,
                             const DecodePlan& plan) {
  const AttentionArgs& args = params.args;
  const BatchView& batch = params.batch;
  const int num_kv_heads = args.num_kv_heads;
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
      } else if (item.row_splits() == 1) {
        finish<kTiles>(shared, args, t, item.head, sums);
      } else {
        post_split<kTiles>(params, item, sums);
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
__global__ void __launch_bounds__(kDecodeThreads) attention_decode_kernel(DecodeParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    const DecodePlan plan = plan_items(params.batch, params.args.num_kv_heads);
    attend_items<kTiles>(*reinterpret_cast<DecodeShared<kTiles>*>(memory), params, plan);
    if (!plan.whole) {
      wait_for_previous();  // where there was no item
      merge_posted<kTiles>(params, plan.pairs);
    }
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
      .scale_log2 = args.scale * kLog2E,
      .partials = context.scratch<float>(static_cast<size_t>(partials) * sizeof(float)),
      .counters = context.zeros(static_cast<size_t>(kMaxSplitRows * args.num_kv_heads))};
  constexpr size_t kShared = sizeof(DecodeShared<kTiles>);
  allow_shared(attention_decode_kernel<kTiles>, kShared);
  launch_early(context, attention_decode_kernel<kTiles>,
               {.grid = dim3(static_cast<unsigned>(context.device.num_sms)),
                .block = dim3(kDecodeThreads),
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
