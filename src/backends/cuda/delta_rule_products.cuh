// The products of k with k and with q of a chunk, scaled to A and P (see delta_rule_chunks.cuh): by
// a warpgroup, in accumulators.
#pragma once

#include "backends/cuda/delta_rule_gates.cuh"
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

// Decays of this thread's two rows (r and r + 8) against the columns of the blocks before theirs.
struct RowDecays {
  float sum[2];       // G of the rows
  float to_block[2];  // exp(G_row - G_first), first the first row of the warp's block
};

// Both rows' products for columns 8 j + 2 t and the next: x[row][column]. `Strict`: only columns
// before the row, else up to it.
template <bool Strict>
__device__ __forceinline__ void scale_products(float (&x)[2][2], const float* d, int j, int warp,
                                               int r, int column, const float (&row_scale)[2],
                                               const RowDecays& decays,
                                               const HeadScratch& scratch) {
  const float2 norm = *reinterpret_cast<const float2*>(&scratch.norm[column]);
  if (j < 2 * warp) {
    const float2 far = *reinterpret_cast<const float2*>(&scratch.from_block[warp - 1][column]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float scale = row_scale[i] * decays.to_block[i];
      x[i][0] = d[2 * i] * scale * (norm.x * far.x);
      x[i][1] = d[2 * i + 1] * scale * (norm.y * far.y);
    }
    return;
  }
  const float2 sum = *reinterpret_cast<const float2*>(&scratch.sum[column]);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = r + 8 * i;
    const int last = Strict ? row - 1 : row;
    x[i][0] =
        column <= last ? d[2 * i] * row_scale[i] * norm.x * decay(decays.sum[i] - sum.x) : 0.0F;
    x[i][1] = column + 1 <= last
                  ? d[2 * i + 1] * row_scale[i] * norm.y * decay(decays.sum[i] - sum.y)
                  : 0.0F;
  }
}

// The blocks of A: those below the diagonal to the matrix, the diagonal one in float32.
__device__ __forceinline__ void put_a(const float (&products)[32], const RowDecays& decays,
                                      HeadScratch& scratch, int warp, int lane) {
  const int r = warp * 16 + lane / 4;
  const float scale[2] = {scratch.beta[r] * scratch.norm[r],
                          scratch.beta[r + 8] * scratch.norm[r + 8]};
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int column = 8 * j + lane % 4 * 2;
    if (j >= 2 * warp + 2) {
      continue;
    }
    float x[2][2];
    scale_products<true>(x, products + 4 * j, j, warp, r, column, scale, decays, scratch);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (j < 2 * warp) {
        *reinterpret_cast<uint32_t*>(&scratch.matrix[(r + 8 * i) * kPitch + column]) =
            pack_half(x[i][0], x[i][1]);
      } else {
        float* to = &scratch.diagonal[warp][(lane / 4 + 8 * i) * kDiagonalPitch];
        *reinterpret_cast<float2*>(to + column - 16 * warp) = make_float2(x[i][0], x[i][1]);
      }
    }
  }
}

}  // namespace deltaserve::cuda
