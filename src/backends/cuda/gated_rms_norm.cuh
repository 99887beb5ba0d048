// The gated norm of a head that a warp holds, N numbers a lane: what all kernels that make one
// share, for the same bits.
#pragma once

#include "backends/cuda/device_math.cuh"

namespace deltaserve::cuda {

// For an output of X: x <- weight * (x / rms(x)) * silu(z); lanes beyond the head hold zeros.
template <typename X, int N>
__device__ __forceinline__ void norm_head(float (&x)[N], const float (&z)[N],
                                          const float (&weight)[N], int head_dim, float eps) {
  float squares = 0.0F;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    squares = fmaf(x[i], x[i], squares);
  }
  const float scale = rsqrtf(warp_sum(squares) / static_cast<float>(head_dim) + eps);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    x[i] = weight[i] * (x[i] * scale) * silu_for<X>(z[i]);
  }
}

}  // namespace deltaserve::cuda
