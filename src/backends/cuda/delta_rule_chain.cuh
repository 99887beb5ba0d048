// The chain of the delta rule: a warpgroup carries 64 value columns of the state S through a chunk
// in float32 accumulators, see delta_rule_chunks.cuh. Three products, each with what the one before
// left in registers as its first operand and 128 columns wide:
//   [X | Y] = S [K ; Q]^T     [U | Z] = W [T' ; R]^T     S += (U diag(rk e^(G_C - G))) K
// What stands between the products is all that a step costs beside them, and so V and the factors
// are read as late as registers allow, and S is scaled while [U | Z] runs.
#pragma once

#include "backends/cuda/delta_rule_state.cuh"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/wgmma.cuh"

namespace deltaserve::cuda {

// Addresses in shared memory of a chunk's operands.
struct ChainOperands {
  uint32_t rows = 0;               // K and Q, as load_chunk leaves them
  uint32_t values = 0;             // the warpgroup's 64 columns of V
  uint32_t solved = 0;             // T' and R
  const float* factors = nullptr;  // [kFactors]
};

__device__ __forceinline__ void load_factors(float2 (&to)[8], const float* from) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    to[j] = *reinterpret_cast<const float2*>(from + 8 * j);
  }
}

// The warp's 16 columns of V, in accumulator layout.
__device__ __forceinline__ void load_values(uint32_t (&V)[16], uint32_t values) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp % 4;
  values += static_cast<uint32_t>(swizzled(lane / 16 * 8 + lane % 8, warp * 2 + lane / 8 % 2));
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    load_tiles_transposed(V + 4 * j, values + j * 2048);
  }
}

// W = V - X diag(scale), as operand; `scale` of the token columns 8 j + 2 t and the next. X, Y and
// U below are halves of a thread's 64 accumulators.
__device__ __forceinline__ void make_w(uint32_t (&W)[16], const uint32_t (&V)[16], const float* X,
                                       const float2 (&scale)[8]) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float2 low = unpack_bf16(V[2 * j]);
    const float2 high = unpack_bf16(V[2 * j + 1]);
    const float* x = X + 4 * j;
    W[2 * j] = pack_bf16(low.x - scale[j].x * x[0], low.y - scale[j].y * x[1]);
    W[2 * j + 1] = pack_bf16(high.x - scale[j].x * x[2], high.y - scale[j].y * x[3]);
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

__device__ __forceinline__ void pack_scaled(uint32_t (&U)[16], const float* X,
                                            const float2 (&scale)[8]) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float* x = X + 4 * j;
    U[2 * j] = pack_bf16(x[0] * scale[j].x, x[1] * scale[j].y);
    U[2 * j + 1] = pack_bf16(x[2] * scale[j].x, x[3] * scale[j].y);
  }
}

// A chunk up to the start of its last product, after which O^T = XY[32..] + UZ[32..] and
// `finish_chunk` must follow. `Early`: factors are read while a product runs, for which registers
// must be there.
template <bool Early>
__device__ __forceinline__ void carry_chunk(ChainRegisters& x, const ChainOperands& operands) {
  const float* factors = operands.factors + threadIdx.x % 4 * 2;
  const uint64_t rows = wgmma_operand(operands.rows, 16, 1024);
  const uint64_t columns = wgmma_operand(operands.rows, 2 * kTileBytes, 1024);
  const uint64_t solved = wgmma_operand(operands.solved, 16, 1024);
  uint32_t V[16];
  uint32_t packed[16];  // W, then U scaled
  float2 scale[8];
  load_values(V, operands.values);
  pin(x.XY);
  pin(x.packed_state);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    wgmma_n128(x.XY, x.packed_state + 4 * k, rows + ((k / 4 * 2 * kTileBytes + k % 4 * 32) >> 4),
               k > 0);
  }
  wgmma_commit();
  if constexpr (Early) {
    load_factors(scale, factors);
  }
  wgmma_wait();
  pin(x.XY);
  pin(V);
  if constexpr (!Early) {
    load_factors(scale, factors);
  }
  make_w(packed, V, x.XY, scale);
  pin(x.UZ);
  pin(packed);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    wgmma_n128(x.UZ, packed + 4 * k, solved + (k * 32 >> 4), k > 0);
  }
  wgmma_commit();
  const float whole = factors[3 * kChunkSize];
#pragma unroll
  for (float& s : x.S) {
    s *= whole;
  }
  load_factors(scale, factors + kChunkSize);
  scale_columns(x.XY + 32, scale);
  if constexpr (Early) {
    load_factors(scale, factors + 2 * kChunkSize);
  }
  wgmma_wait();
  pin(x.UZ);
  if constexpr (!Early) {
    load_factors(scale, factors + 2 * kChunkSize);
  }
  pack_scaled(packed, x.UZ, scale);
  pin(x.S);
  pin(packed);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    wgmma_n128_transposed(x.S, packed + 4 * k, columns + (k * 2048 >> 4));
  }
  wgmma_commit();
}

// Waits for the last product; `rows_read` is called when the chunk's operands are no longer needed.
template <typename RowsRead>
__device__ __forceinline__ void finish_chunk(ChainRegisters& x, RowsRead&& rows_read) {
  wgmma_wait();
  pin(x.S);
  rows_read();
  pack_state(x);
}

}  // namespace deltaserve::cuda
