// How the splits of decoded rows meet in memory. A thread block posts the results of its splits one
// after the other and waits for nobody; then all blocks merge, a slice of the dimensions of a row
// and head each, as soon as all of that row's splits are there. All blocks of the grid are resident
// at a time: it is as large as the device, and what another kernel holds of it comes free.
#pragma once

#include <cstdint>

#include "backends/cuda/attention_merge.cuh"
#include "backends/cuda/attention_splits.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "ops/args.h"

namespace deltaserve::cuda {

// A counter's splits that were posted, and from here on up its slices that were begun.
inline constexpr int kSliceCount = 1 << 16;
static_assert(kMaxSplits < kSliceCount);

__device__ __forceinline__ int64_t row_head_of(const DecodeParams& params, const DecodeItem& item) {
  return int64_t{item.rank} * params.args.num_kv_heads + item.head;
}

// Puts a split's result where its row's others go, and counts it.
template <int kTiles>
__device__ void post_split(const DecodeParams& params, const DecodeItem& item,
                           const HeadSum (&sums)[kTiles]) {
  const int64_t row_head = row_head_of(params, item);
  float* to = params.partials + (row_head * kMaxSplits + item.split) * kTiles * kPartialFloats;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    float* part = to + n * kPartialFloats;
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      __stcg(part + threadIdx.x + i * kDecodeThreads, sums[n].values[i]);
    }
    if (threadIdx.x < kColumns) {
      __stcg(part + kTileFloats + threadIdx.x, sums[n].largest);
      __stcg(part + kTileFloats + kColumns + threadIdx.x, sums[n].total);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(params.counters + row_head)
                 : "memory");
  }
}

// Waits until all splits of a row and head are there. What thread 0 gets goes to end_slice.
__device__ __forceinline__ int32_t wait_for_splits(int32_t* counter, int splits) {
  int32_t before = 0;
  if (threadIdx.x == 0) {
    int count;
    do {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
    } while (count % kSliceCount < splits);
    // Of a number that all lanes share ptxas makes one addition a warp and waits for its result.
    auto none = static_cast<int32_t>(threadIdx.x);
    asm volatile("" : "+r"(none));
    before = atomicAdd(counter, kSliceCount + none);
  }
  __syncthreads();
  return before;
}

// Who began the last slice clears the counter.
__device__ __forceinline__ void end_slice(int32_t* counter, int32_t before, int slices) {
  if (threadIdx.x == 0 && before / kSliceCount == slices - 1) {
    *counter = 0;
  }
}

// Merges slice `slice` of kSlices of the dimensions of a row and head from its splits, divides,
// applies the gate and stores.
template <int kTiles, int kSlices>
__device__ void merge_slice(const DecodeParams& params, const DecodeItem& item, int slice) {
  constexpr int kOfThread = kValues / kSlices;
  constexpr int kAtOnce = kOfThread == 1 ? 16 : 8;  // splits on the way
  const AttentionArgs& args = params.args;
  const int group = args.num_heads / args.num_kv_heads;
  const int64_t t = params.batch.cu_seqlens[item.sequence] + item.row;
  const int64_t row_head = row_head_of(params, item);
  const float* from = params.partials + row_head * kMaxSplits * kTiles * kPartialFloats;
  const int splits = item.row_splits();
  const int first = slice * kOfThread * kDecodeThreads + static_cast<int>(threadIdx.x);
  const int column = static_cast<int>(threadIdx.x) % kColumns;
  int32_t* const counter = params.counters + row_head;
  const int32_t before = wait_for_splits(counter, splits);
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const auto part_of = [&](int split) {
      const float* part = from + (split * kTiles + n) * kPartialFloats;
      SoftmaxSum<kOfThread> sum;
      sum.largest = __ldcg(part + kTileFloats + column);
      sum.total = __ldcg(part + kTileFloats + kColumns + column);
#pragma unroll
      for (int i = 0; i < kOfThread; ++i) {
        sum.values[i] = __ldcg(part + first + i * kDecodeThreads);
      }
      return sum;
    };
    SoftmaxSum<kOfThread> sum = part_of(0);
#pragma unroll kAtOnce
    for (int split = 1; split < splits; ++split) {
      sum.merge(part_of(split));
    }
    const int head = n * kColumns + column;
    if (head >= group) {
      continue;
    }
    const int64_t query_head = int64_t{item.head} * group + head;
    const bf16* gate =
        static_cast<const bf16*>(args.gate) + t * args.q_stride + query_head * args.q_head_stride;
    bf16* out = static_cast<bf16*>(args.out) + t * args.out_stride + query_head * kHeadDim;
#pragma unroll
    for (int i = 0; i < kOfThread; ++i) {
      const int dim = (first + i * kDecodeThreads) / kColumns;
      out[dim] = from_float<bf16>(sum.values[i] / sum.total * sigmoid(to_float(gate[dim])));
    }
  }
  end_slice(counter, before, kSlices);
}

// The slices of all rows and heads, of which there are `pairs`, dealt to the blocks of the grid.
template <int kTiles, int kSlices>
__device__ void merge_slices(const DecodeParams& params, int pairs) {
  for (int i = static_cast<int>(blockIdx.x); i < pairs * kSlices;
       i += static_cast<int>(gridDim.x)) {
    const DecodeItem item = find_item(params.batch, params.args.num_kv_heads, i / kSlices, true);
    if (item.row_splits() > 1) {
      merge_slice<kTiles, kSlices>(params, item, i % kSlices);
    }
  }
}

// Merges what all blocks posted, in as many slices as the grid has blocks for, four at least: with
// fewer a thread would have to ask for a split after the other.
template <int kTiles>
__device__ void merge_posted(const DecodeParams& params, int pairs) {
  const int grid = static_cast<int>(gridDim.x);
  if (pairs * 16 <= grid) {
    merge_slices<kTiles, 16>(params, pairs);
  } else if (pairs * 8 <= grid) {
    merge_slices<kTiles, 8>(params, pairs);
  } else {
    merge_slices<kTiles, 4>(params, pairs);
  }
}

}  // namespace deltaserve::cuda
