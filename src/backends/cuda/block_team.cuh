// A team of blocks that work on one row: a cluster on devices that have them, else one block. What
// a block publishes in shared memory the others read where it is.
#pragma once

#include <cooperative_groups.h>

#include "backends/cuda/device_vectors.cuh"

namespace deltaserve::cuda {

template <int Size>
struct BlockTeam {
  static constexpr int kSize = Size;

  static __device__ int rank() { return Size == 1 ? 0 : static_cast<int>(blockIdx.x) % Size; }

  // Barrier of all threads of the team; what was written to shared memory before is visible.
  static __device__ void sync() {
#if __CUDA_ARCH__ >= 900
    if constexpr (Size > 1) {
      cooperative_groups::this_cluster().sync();
      return;
    }
#endif
    __syncthreads();
  }

  // The place of a shared variable in another block of the team.
  template <typename T>
  static __device__ T* of(T* own, int rank) {
#if __CUDA_ARCH__ >= 900
    if constexpr (Size > 1) {
      return cooperative_groups::this_cluster().map_shared_rank(own, rank);
    }
#endif
    return own;
  }
};

// Exclusive prefix sum over the block in thread order, and the total; `partial` has room for 32.
template <typename T>
__device__ __forceinline__ T block_prefix(T value, T* partial, T& total) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int num_warps = static_cast<int>(blockDim.x) / kWarp;
  T inclusive = value;
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const T other = __shfl_up_sync(kAllLanes, inclusive, offset);
    inclusive += lane >= offset ? other : T{0};
  }
  if (lane == kWarp - 1) {
    partial[warp] = inclusive;
  }
  __syncthreads();
  T before = T{0};
  total = T{0};
  for (int w = 0; w < num_warps; ++w) {
    const T sum = partial[w];
    before += w < warp ? sum : T{0};
    total += sum;
  }
  __syncthreads();
  return before + inclusive - value;
}

}  // namespace deltaserve::cuda
