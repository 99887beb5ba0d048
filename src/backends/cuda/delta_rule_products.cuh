// The products of k with k and with q of a chunk, by a warpgroup in accumulators, and what the
// value heads make of them: A and P (see delta_rule_chunks.cuh).
#pragma once

#include "backends/cuda/delta_rule_gates.cuh"
#include "backends/cuda/mma_bf16.cuh"
#include "backends/cuda/wgmma.cuh"

namespace deltaserve::cuda {

// d[64 x 64] = (rows of `left`) (rows of `right`)^T, over the two halves of the columns.
__device__ __forceinline__ void start_product(float (&d)[32], uint32_t left, uint32_t right) {
  const uint64_t a = wgmma_operand(left, 16, 1024);
  const uint64_t b = wgmma_operand(right, 16, 1024);
  pin(d);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const uint64_t step = (k / 4 * 2 * kTileBytes + k % 4 * 32) >> 4;
    wgmma_n64_shared(d, a + step, b + step, k > 0);
  }
  wgmma_commit();
}

// The warp's 16 rows of `tile` times themselves, accumulators of the two blocks of 8 columns.
__device__ __forceinline__ void multiply_rows_by_themselves(float (&d)[2][4], uint32_t tile,
                                                            int warp, int lane) {
  const int row = 16 * warp + lane % 16;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    uint32_t a[4];
    load_tiles(a, tile + k / 4 * 2 * kTileBytes + swizzled(row, k % 4 * 2 + lane / 16));
    mma_bf16(d[0], a[0], a[1], a[2], a[3], a[0], a[2]);
    mma_bf16(d[1], a[0], a[1], a[2], a[3], a[1], a[3]);
  }
}

// The warp's block on the diagonal of a product: of four blocks of eight numbers one.
__device__ __forceinline__ void take_diagonal(float (&to)[2][4], const float (&products)[32],
                                              int warp) {
#pragma unroll
  for (int w = 0; w < kSteps; ++w) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      to[i / 4][i % 4] = w == 0 || w == warp ? products[8 * w + i] : to[i / 4][i % 4];
    }
  }
}

// A warp's 16 rows of the products with k, as accumulators.
struct Products {
  float kk[32];
  float qk[32];
  float kk_diagonal[2][4];
  float qk_diagonal[2][4];
};

// What -A and P are scaled with in a thread's two rows, r = 16 warp + lane / 4 and r + 8.
struct RowFactors {
  float sum[2];  // G
  float k[2];    // -beta rk
  float q[2];    // rq
};

__device__ __forceinline__ RowFactors load_row_factors(const float* norm, const HeadGates& gates,
                                                       int warp, int lane) {
  RowFactors rows;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = 16 * warp + lane / 4 + 8 * i;
    rows.sum[i] = gates.sum[row];
    rows.k[i] = -gates.beta[row] * norm[row];
    rows.q[i] = norm[kChunkSize + row];
  }
  return rows;
}

// The blocks of -A and P before the diagonal, in the warp's rows.
__device__ __forceinline__ void put_blocks_before(const Products& x, const RowFactors& rows,
                                                  const float* norm, const HeadGates& gates,
                                                  HeadScratch& scratch, int warp, int lane) {
  float k[2];
  float q[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float to_block = decay(rows.sum[i] - gates.sum[16 * warp]);
    k[i] = rows.k[i] * to_block;
    q[i] = rows.q[i] * to_block;
  }
  const int first = triangle_block(warp, 0) + lane * 4;
#pragma unroll
  for (int j = 0; j < 2 * (kSteps - 1); ++j) {
    if (j / 2 >= warp) {
      break;
    }
    const int column = 8 * j + lane % 4 * 2;
    const float2 rk = *reinterpret_cast<const float2*>(&norm[column]);
    const float2 far = *reinterpret_cast<const float2*>(&gates.from_block[warp - 1][column]);
    const float2 scale = make_float2(rk.x * far.x, rk.y * far.y);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int to = first + j / 2 * kBlockBytes + (j % 2 + 2 * i) * (kBlockBytes / 4);
      const int at = 4 * j + 2 * i;
      *reinterpret_cast<uint32_t*>(scratch.lower + to) =
          pack_half(x.kk[at] * (k[i] * scale.x), x.kk[at + 1] * (k[i] * scale.y));
      *reinterpret_cast<uint32_t*>(scratch.p + to) =
          pack_half(x.qk[at] * (q[i] * scale.x), x.qk[at + 1] * (q[i] * scale.y));
    }
  }
}

// The warp's blocks on the diagonal, where a decay is an exponential of its own.
__device__ __forceinline__ void put_diagonal(const Products& x, const RowFactors& rows,
                                             const float* norm, const HeadGates& gates,
                                             HeadScratch& scratch, int warp, int lane) {
  char* p = scratch.p + triangle_block(warp, warp) + lane * 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int column = 8 * half + lane % 4 * 2;
    const float2 rk = *reinterpret_cast<const float2*>(&norm[16 * warp + column]);
    const float2 sum = *reinterpret_cast<const float2*>(&gates.sum[16 * warp + column]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = lane / 4 + 8 * i;
      float2 in_a = make_float2(0.0F, 0.0F);
      float2 in_p = in_a;
      if (half <= i) {
        const float* kk = x.kk_diagonal[half] + 2 * i;
        const float* qk = x.qk_diagonal[half] + 2 * i;
        const float2 scale =
            make_float2(rk.x * decay(rows.sum[i] - sum.x), rk.y * decay(rows.sum[i] - sum.y));
        in_a = make_float2(kk[0] * (rows.k[i] * scale.x), kk[1] * (rows.k[i] * scale.y));
        in_p = make_float2(qk[0] * (rows.q[i] * scale.x), qk[1] * (rows.q[i] * scale.y));
      }
      if (half == i) {
        in_a.x = column < row ? in_a.x : 0.0F;
        in_a.y = column + 1 < row ? in_a.y : 0.0F;
        in_p.x = column <= row ? in_p.x : 0.0F;
        in_p.y = column + 1 <= row ? in_p.y : 0.0F;
      }
      *reinterpret_cast<float2*>(&scratch.diagonal[warp][row * kDiagonalPitch + column]) = in_a;
      *reinterpret_cast<uint32_t*>(p + (half + 2 * i) * (kBlockBytes / 4)) =
          pack_half(in_p.x, in_p.y);
    }
  }
}

}  // namespace deltaserve::cuda
