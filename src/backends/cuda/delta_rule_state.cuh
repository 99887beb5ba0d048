// The state of the delta rule while a warpgroup carries it: 64 value columns S [64 x dk] in float32
// accumulators, beside them what the products of a chunk need (see delta_rule_chain.cuh).
#pragma once

#include "backends/cuda/delta_rule_chunks.cuh"

namespace deltaserve::cuda {

inline constexpr int kColumns = 64;  // value columns of a warpgroup

// A thread's part, rows r and r + 8 of the warpgroup's 64 in accumulator layout.
struct ChainRegisters {
  float S[64];
  uint32_t packed_state[32];  // S as operand
  float XY[64];               // S K^T and S Q^T
  float UZ[64];               // new values, and their part of the output
};

__device__ __forceinline__ void pack_state(ChainRegisters& x) {
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    x.packed_state[i] = pack_bf16(x.S[2 * i], x.S[2 * i + 1]);
  }
}

// `row`: of this thread's first row of the state, its first column there.
__device__ __forceinline__ void load_state(ChainRegisters& x, const float* row, bool zero) {
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    float2 a = make_float2(0.0F, 0.0F);
    float2 b = a;
    if (!zero) {
      a = *reinterpret_cast<const float2*>(row + 8 * j);
      b = *reinterpret_cast<const float2*>(row + 8 * kDeltaDim + 8 * j);
    }
    x.S[4 * j] = a.x;
    x.S[4 * j + 1] = a.y;
    x.S[4 * j + 2] = b.x;
    x.S[4 * j + 3] = b.y;
  }
  pack_state(x);
}

__device__ __forceinline__ void store_state(const ChainRegisters& x, float* row) {
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    *reinterpret_cast<float2*>(row + 8 * j) = make_float2(x.S[4 * j], x.S[4 * j + 1]);
    *reinterpret_cast<float2*>(row + 8 * kDeltaDim + 8 * j) =
        make_float2(x.S[4 * j + 2], x.S[4 * j + 3]);
  }
}

}  // namespace deltaserve::cuda
