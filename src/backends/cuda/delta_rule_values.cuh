// What stands between the products of the delta rule's chain (delta_rule_chain.cuh): V and factors
// out of shared memory, and what one product left in accumulators as the next one's operand.
#pragma once

#include "backends/cuda/delta_rule_state.cuh"
#include "backends/cuda/mma.cuh"

namespace deltaserve::cuda {

__device__ __forceinline__ void load_factors(float2 (&to)[8], const float* from) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    to[j] = *reinterpret_cast<const float2*>(from + 8 * j);
  }
}

// The warp's 16 columns of V, in accumulator layout.
__device__ __forceinline__ void load_values(uint32_t (&V)[16], uint32_t values) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int warp = static_cast<int>(threadIdx.x / kWarp % 4);
  values += static_cast<uint32_t>(swizzled(lane / 16 * 8 + lane % 8, warp * 2 + lane / 8 % 2));
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    load_tiles_transposed(V + 4 * j, values + j * 2048);
  }
}

// W = V - X diag(scale), as operand; `scale` of the token columns 8 j + 2 t and the next.
template <typename Operand>
__device__ __forceinline__ void make_w(uint32_t (&W)[16], const uint32_t (&V)[16],
                                       const ChainRegisters<Operand>& x, const float2 (&scale)[8]) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    float2 v = unpack_bf16(V[i]);
    if constexpr (kScaled<Operand>) {
      v.x *= __uint_as_float(x.scale[i % 2]);
      v.y *= __uint_as_float(x.scale[i % 2]);
    }
    W[i] =
        pack<Operand>(v.x - scale[i / 2].x * x.XY[2 * i], v.y - scale[i / 2].y * x.XY[2 * i + 1]);
  }
}

__device__ __forceinline__ void scale_columns(float* Y, const float2 (&scale)[8]) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    Y[4 * j] *= scale[j].x;
    Y[4 * j + 1] *= scale[j].y;
    Y[4 * j + 2] *= scale[j].x;
    Y[4 * j + 3] *= scale[j].y;
  }
}

// U of [U | Z], whose blocks of 16 columns take turns.
template <typename Operand>
__device__ __forceinline__ void pack_scaled(uint32_t (&U)[16], const float (&UZ)[64],
                                            const float2 (&scale)[8]) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float* x = UZ + j / 2 * 16 + j % 2 * 4;
    U[2 * j] = pack<Operand>(x[0] * scale[j].x, x[1] * scale[j].y);
    U[2 * j + 1] = pack<Operand>(x[2] * scale[j].x, x[3] * scale[j].y);
  }
}

}  // namespace deltaserve::cuda
