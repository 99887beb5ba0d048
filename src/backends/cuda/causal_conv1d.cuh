// An output of the causal convolution: what all kernels that make one share, for the same bits.
#pragma once

#include "backends/cuda/device_math.cuh"

namespace deltaserve::cuda {

inline constexpr int kConvHistory = 3;  // inputs before the current one

// For an output of X: silu of the sum over a channel's four inputs, oldest first. Fused by name, so
// that a row has the same bits wherever the compiler puts it.
template <typename X>
__device__ __forceinline__ float conv_output(const float (&w)[4], float x0, float x1, float x2,
                                             float x3) {
  return silu_for<X>(fmaf(w[3], x3, fmaf(w[2], x2, fmaf(w[1], x1, w[0] * x0))));
}

}  // namespace deltaserve::cuda
