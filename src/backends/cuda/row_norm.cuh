// The norm's share of a product of one row (row_product.cu): the scale of x, and what becomes of
// sums that go to the residual (norm_scale.cuh).
#pragma once

#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/norm_scale.cuh"

namespace deltaserve::cuda {

inline constexpr int kRowWarps = 4;  // of a thread block
inline constexpr int kRowRows = 2;   // of W, a warp's

// The scale of x by all of a block's warps: `begin` behind the wait, `end` when it is wanted.
struct RowScale {
  float partial[kRowWarps];

  __device__ __forceinline__ void begin(const NormScale& scale) {
    if (scale.squares != nullptr) {
      const float sum =
          warp_sum(squares_share(scale, 0, static_cast<int>(threadIdx.x), kRowWarps * kWarp));
      if (threadIdx.x % kWarp == 0) {
        partial[threadIdx.x / kWarp] = sum;
      }
    }
  }
  __device__ __forceinline__ float end(const NormScale& scale) const {
    if (scale.squares == nullptr) {
      return 1.0F;
    }
    __syncthreads();
    float sum = 0.0F;
#pragma unroll
    for (int w = 0; w < kRowWarps; ++w) {
      sum += partial[w];
    }
    return scale_of(scale, sum);
  }
};

// Rows `first` and the next of the residual and what the norm makes of them. By whole warps; all of
// a block call it.
struct RowNorm {
  float2 residual;
  float2 factors;

  __device__ __forceinline__ void load(const NormRows& norm, int64_t first) {
    residual = *reinterpret_cast<const float2*>(norm.residual + first);
    factors = *reinterpret_cast<const float2*>(norm.weight + first);
  }
  __device__ __forceinline__ void store(const NormRows& norm, int64_t first,
                                        const float (&sums)[kRowRows],
                                        float (&partial)[kRowWarps]) {
    if (threadIdx.x % kWarp == 0) {
      residual.x += sums[0];
      residual.y += sums[1];
      *reinterpret_cast<float2*>(norm.residual + first) = residual;
      *reinterpret_cast<uint32_t*>(norm.out + first) =
          pack_bf16(residual.x * (1.0F + factors.x), residual.y * (1.0F + factors.y));
      partial[threadIdx.x / kWarp] = residual.x * residual.x + residual.y * residual.y;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      norm.squares[blockIdx.x] = (partial[0] + partial[1]) + (partial[2] + partial[3]);
    }
  }
};

}  // namespace deltaserve::cuda
