// The chain of the delta rule: a warpgroup carries 64 value columns of the state S through a chunk
// in float32 accumulators, see delta_rule_chunks.cuh. Three products, each with what the one before
// left in registers as its first operand and 128 columns wide:
//   [X | Y] = S [K ; Q]^T     [U | Z] = W [T' ; R]^T     S += (U diag(rk e^(G_C - G))) K
// What stands between the products is all that a step costs beside them, and so V and the factors
// are read as late as registers allow, and S is scaled while [U | Z] runs.
#pragma once

#include "backends/cuda/delta_rule_solved.cuh"
#include "backends/cuda/delta_rule_values.cuh"
#include "backends/cuda/wgmma_registers.cuh"

namespace deltaserve::cuda {

// Addresses in shared memory of a chunk's operands.
struct ChainOperands {
  uint32_t rows = 0;               // K and Q, as load_chunk leaves them
  uint32_t values = 0;             // the warpgroup's 64 columns of V
  uint32_t solved = 0;             // T' and R, as load_solved leaves them
  const float* factors = nullptr;  // [kFactors]
};

// A chunk up to the start of its last product, after which put_output and `finish_chunk` must
// follow. `Early`: factors are read while a product runs, for which registers
// must be there.
template <bool Early, typename Operand>
__device__ __forceinline__ void carry_chunk(ChainRegisters<Operand>& x,
                                            const ChainOperands& operands) {
  const float* factors = operands.factors + threadIdx.x % 4 * 2;
  const uint64_t rows = wgmma_operand(operands.rows, 16, 1024);
  const uint64_t columns = wgmma_operand(operands.rows, 2 * kTileBytes, 1024);
  const uint64_t solved = solved_operand(operands.solved);
  uint32_t V[16];
  uint32_t packed[16];  // W, then U scaled
  float2 scale[8];
  load_values(V, operands.values);
  float2 change;  // of the rows' powers of two
  if constexpr (kScaled<Operand>) {
    change = fit_scales(x, V);
    pack_state(x, change.x, change.y);
  }
  pin(x.XY);
  pin(x.packed_state);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    wgmma_n128<Operand>(x.XY, x.packed_state + 4 * k,
                        rows + ((k / 4 * 2 * kTileBytes + k % 4 * 32) >> 4), k > 0);
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
  make_w(packed, V, x, scale);
  pin(x.UZ);
  pin(packed);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    wgmma_n128_transposed<Operand>(x.UZ, packed + 4 * k, solved + (k * kStepBytes >> 4), k > 0);
  }
  wgmma_commit();
  const float whole = operands.factors[3 * kChunkSize];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    x.S[i] *= kScaled<Operand> ? whole * (i / 2 % 2 == 0 ? change.x : change.y) : whole;
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
  pack_scaled<Operand>(packed, x.UZ, scale);
  pin(x.S);
  pin(packed);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    wgmma_n128_transposed<Operand>(x.S, packed + 4 * k, columns + (k * 2048 >> 4), true);
  }
  wgmma_commit();
}

// Waits for the last product; `rows_read` is called when the chunk's operands are no longer needed.
template <typename Operand, typename RowsRead>
__device__ __forceinline__ void finish_chunk(ChainRegisters<Operand>& x, RowsRead&& rows_read) {
  wgmma_wait();
  pin(x.S);
  rows_read();
  if constexpr (!kScaled<Operand>) {
    pack_state(x);
  }
}

}  // namespace deltaserve::cuda
