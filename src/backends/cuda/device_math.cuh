// Reductions and the small functions that every kernel needs. X is float or __nv_bfloat16;
// arithmetic is float32 and a value is rounded once, when it is stored.
#pragma once

#include "backends/cuda/device_vectors.cuh"

namespace deltaserve::cuda {

// Sum or maximum over the `Lanes` lanes of an aligned group; every lane gets it.
template <int Lanes = kWarp>
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2) {
    x += __shfl_xor_sync(kAllLanes, x, offset);
  }
  return x;
}
template <int Lanes = kWarp>
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2) {
    x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, offset));
  }
  return x;
}

// Sum over a block of whole warps, in the same order always; every thread gets it. `partial` has
// room for 32 floats. Ends with a barrier, so that `partial` may be used again.
__device__ __forceinline__ float block_sum(float x, float* partial) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int num_warps = static_cast<int>(blockDim.x) / kWarp;
  x = warp_sum(x);
  if (lane == 0) {
    partial[warp] = x;
  }
  __syncthreads();
  x = warp_sum(lane < num_warps ? partial[lane] : 0.0F);
  __syncthreads();
  return x;
}

// Exact to float32's last bits: no fast-math forms.
__device__ __forceinline__ float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}
__device__ __forceinline__ float silu(float x) {
  return x / (1.0F + expf(-x));
}
// 2^x to a relative 2^-22; 0 of -infinity.
__device__ __forceinline__ float exp2_fast(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}
// silu for a result of X: where that is bfloat16, to some 2^-21 in a quarter of the instructions.
template <typename X>
__device__ __forceinline__ float silu_for(float x) {
  if constexpr (sizeof(X) == sizeof(float)) {
    return silu(x);
  } else {
    constexpr float kLog2E = 1.44269504F;
    float out;
    asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(out) : "f"(x), "f"(1.0F + exp2_fast(-kLog2E * x)));
    return out;
  }
}
// log(1 + exp(x)); above 20 it is x to float32's last bit.
__device__ __forceinline__ float softplus(float x) {
  return x > 20.0F ? x : log1pf(expf(x));
}

}  // namespace deltaserve::cuda
