// moe_topk, a warp a token (moe_choose.cuh), and for a decode step the same together with the
// order of entries by expert in one thread block.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_choose.cuh"
#include "backends/cuda/moe_kernels.h"
#include "base/check.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kWarps = 4;

template <int kSlots>
__global__ void __launch_bounds__(kWarps* kWarp) moe_topk_kernel(MoeTopkArgs args) {
  let_next_start();
  wait_for_previous();
  const int64_t t = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (t < args.T) {
    choose_experts<kSlots>(args.logits + t * args.logits_stride, args.E, args.K, args.renormalize,
                           args.expert_ids + t * args.K, args.weights + t * args.K);
  }
}

constexpr int kSortThreads = 1024;
constexpr int kSortWarps = kSortThreads / kWarp;

// Sum of `value` over the threads before this one. `partial` has room for kSortWarps.
__device__ int sum_before(int value, int* partial) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  int sum = value;
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const int other = __shfl_up_sync(kAllLanes, sum, offset);
    sum += lane >= offset ? other : 0;
  }
  if (lane == kWarp - 1) {
    partial[warp] = sum;
  }
  __syncthreads();
  int before = sum - value;
  for (int w = 0; w < warp; ++w) {
    before += partial[w];
  }
  __syncthreads();
  return before;
}

// A token chooses an expert once, and so the tokens of an expert are a set of bits: their number
// and a token's place among them are counts of bits. An expert's entries are one tile.
constexpr int kWords = static_cast<int>(kMoeDecodeTokens) / 32;

struct SortShared {
  uint32_t tokens[kSortThreads][kWords];  // of each expert
  int first[kSortThreads];                // place of each expert's first entry
  int partial[kSortWarps];
};

// Marks the experts that each token has chosen. ids, weights [T * K].
template <int kSlots>
__device__ __forceinline__ void choose_all(const MoeTopkArgs& args, int32_t* ids,
                                           SortShared& shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto T = static_cast<int>(args.T);
  for (int t = static_cast<int>(threadIdx.x) / kWarp; t < T; t += kSortWarps) {
    int32_t* chosen = ids + t * args.K;
    choose_experts<kSlots>(args.logits + t * args.logits_stride, args.E, args.K, args.renormalize,
                           chosen, args.weights + int64_t{t} * args.K);
    __syncwarp();
    for (int k = lane; k < args.K; k += kWarp) {
      atomicOr(&shared.tokens[chosen[k]][t / 32], 1U << t % 32);
    }
  }
}

// Dynamic shared memory: the chosen ids [T * K].
template <int kSlots>
__global__ void __launch_bounds__(kSortThreads)
    moe_topk_sort_kernel(MoeTopkArgs args, MoeSort sort) {
  extern __shared__ int32_t ids[];
  __shared__ SortShared shared;
  let_next_start();
  const auto expert = static_cast<int>(threadIdx.x);
  for (uint32_t& word : shared.tokens[expert]) {
    word = 0;
  }
  wait_for_previous();
  __syncthreads();
  choose_all<kSlots>(args, ids, shared);
  __syncthreads();
  int count = 0;
  for (const uint32_t word : shared.tokens[expert]) {
    count += __popc(word);
  }
  const int first = sum_before(count, shared.partial);
  const int tile = sum_before(count > 0 ? 1 : 0, shared.partial);
  shared.first[expert] = first;
  if (count > 0) {
    sort.tile_expert[tile] = expert;
    sort.tile_first[tile] = first;
    sort.tile_rows[tile] = count;
  }
  if (expert == kSortThreads - 1) {
    *sort.num_tiles = tile + (count > 0 ? 1 : 0);
  }
  __syncthreads();
  const auto entries = static_cast<int>(args.T) * args.K;
  for (int i = static_cast<int>(threadIdx.x); i < entries; i += kSortThreads) {
    const int t = i / args.K;
    const uint32_t* tokens = shared.tokens[ids[i]];
    int place = shared.first[ids[i]] + __popc(tokens[t / 32] & ((1U << t % 32) - 1U));
    for (int w = 0; w < t / 32; ++w) {
      place += __popc(tokens[w]);
    }
    sort.sorted[place] = i;
  }
}

}  // namespace

void launch_moe_topk_sort(CudaContext& context, const MoeTopkArgs& args, const MoeSort& sort) {
  const auto bytes = static_cast<size_t>(args.T * args.K) * sizeof(int32_t);
  DS_CHECK(args.E <= kSortThreads && args.T <= kMoeDecodeTokens);
  with_slots(args.E, [&](auto slots) {
    launch_early(context, moe_topk_sort_kernel<slots.value>,
                 {.grid = dim3(1), .block = dim3(kSortThreads), .shared_bytes = bytes}, args, sort);
  });
}

}  // namespace cuda

void launch_moe_topk(CudaContext& context, const MoeTopkArgs& args) {
  const cuda::LaunchShape shape{
      .grid = dim3(static_cast<unsigned>(cuda::ceil_div<int64_t>(args.T, cuda::kWarps))),
      .block = dim3(cuda::kWarps * cuda::kWarp)};
  DS_CHECK(args.E <= cuda::kMostSlots * cuda::kWarp);
  cuda::with_slots(args.E, [&](auto slots) {
    cuda::launch_early(context, cuda::moe_topk_kernel<slots.value>, shape, args);
  });
}

}  // namespace deltaserve
