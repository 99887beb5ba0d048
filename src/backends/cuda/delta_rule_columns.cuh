// The rest of the inverse T of I + A and the products with it, a column of blocks of 16 x 16 at a
// time. Block by block down a column,
//   T_ib = T_ii sum(-A_ik T_kb, b <= k < i)     R_ib = sum(P_ik T_kb, b <= k <= i)
// A warp does a column by itself, in its transposed form: then what a product leaves in
// accumulators is the first operand of the next one, and A, T_ii and P are second operands as they
// lie in shared memory. Operands are float16 (all |T_ij| <= 1), sums float32: bfloat16 would cost
// two digits there, and a series in A grows before it shrinks.
#pragma once

#include "backends/cuda/delta_rule_operand.cuh"
#include "backends/cuda/delta_rule_triangle.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/mma.cuh"

namespace deltaserve::cuda {

// c[16 x 16] += a (blocks of `b` as loaded)^T.
__device__ __forceinline__ void multiply_block(float (&c)[2][4], const uint32_t (&a)[4],
                                               const uint32_t (&b)[4]) {
  mma_half(c[0], a, b[0], b[1]);
  mma_half(c[1], a, b[2], b[3]);
}

// Accumulators as first operand.
__device__ __forceinline__ void pack_block(uint32_t (&to)[4], const float (&x)[2][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[i] = pack_half(x[i / 2][i % 2 * 2], x[i / 2][i % 2 * 2 + 1]);
  }
}

// Two columns of a row each, scaled, to a block of T' or R in scratch.
template <typename Operand>
__device__ __forceinline__ void store_block(char* to, const float (&x)[2][4], const float2& beta) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float scale = i % 2 == 0 ? beta.x : beta.y;
    *reinterpret_cast<uint32_t*>(to + i * (kBlockBytes / 4)) =
        pack<Operand>(x[i / 2][i % 2 * 2] * scale, x[i / 2][i % 2 * 2 + 1] * scale);
  }
}

// Column b of T' and R of a chunk to `solved`, its part of scratch.
template <typename Operand>
__device__ __forceinline__ void solve_column(const HeadScratch& scratch, const HeadGates& gates,
                                             char* solved, int b, int lane) {
  const uint32_t lower = shared_address(scratch.lower) + lane * 16;
  const uint32_t p = shared_address(scratch.p) + lane * 16;
  // T's diagonal blocks are transposed: the tiles above and below the middle change places.
  const uint32_t diagonal = shared_address(scratch.lower) + lane / 8 % 2 * (kBlockBytes / 2) +
                            lane / 16 * (kBlockBytes / 4) + lane % 8 * 16;
  const int j = 16 * b + lane / 4;
  const float2 beta = make_float2(gates.beta[j], gates.beta[j + 8]);
  char* to = solved + solved_step(b) + lane * 4;
  uint32_t T[kSteps][4];
#pragma unroll
  for (int m = 0; m < kSteps; ++m) {
    const int i = b + m;
    if (i >= kSteps) {
      break;
    }
    const int row = triangle_block(i, b);
    float x[2][4] = {};
    if (m == 0) {
      load_tiles(T[0], diagonal + triangle_block(b, b));
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float2 pair = unpack_half(T[0][k]);
        x[k / 2][k % 2 * 2] = pair.x;
        x[k / 2][k % 2 * 2 + 1] = pair.y;
      }
    } else {
      float sums[2][4] = {};
#pragma unroll
      for (int k = 0; k < m; ++k) {
        uint32_t A[4];
        load_tiles(A, lower + row + k * kBlockBytes);
        multiply_block(sums, T[k], A);
      }
      uint32_t Tii[4];
      load_tiles_transposed(Tii, diagonal + triangle_block(i, i));
      uint32_t packed[4];
      pack_block(packed, sums);
      multiply_block(x, packed, Tii);
      pack_block(T[m], x);
    }
    store_block<Operand>(to + m * kPairBytes, x, beta);
    float r[2][4] = {};
#pragma unroll
    for (int k = 0; k <= m; ++k) {
      uint32_t P[4];
      load_tiles(P, p + row + k * kBlockBytes);
      multiply_block(r, T[k], P);
    }
    store_block<Operand>(to + m * kPairBytes + kBlockBytes, r, beta);
  }
}

}  // namespace deltaserve::cuda
