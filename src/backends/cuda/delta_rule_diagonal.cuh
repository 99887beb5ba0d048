// What a warpgroup of the chunked delta rule solves a chunk in, and the first part of the inverse
// of I + A: the blocks of 16 on its diagonal, a warp each, in float32. Of each the two blocks of 8
// by forward substitution, then what is below them by products.
#pragma once

#include <cuda_fp16.h>

#include "backends/cuda/delta_rule_chunks.cuh"

namespace deltaserve::cuda {

inline constexpr int kPitch = 72;  // float16 per row of T: rows start in different banks
inline constexpr int kRowBytes = kPitch * 2;
inline constexpr int kDiagonalPitch = 20;  // floats per row of a 16 x 16 block

// Shared memory of one value head.
struct alignas(16) HeadScratch {
  __half matrix[kChunkSize * kPitch];      // A below its diagonal blocks, then T, then R
  float diagonal[4][16 * kDiagonalPitch];  // diagonal blocks of A, one a warp
  float sum[kChunkSize];                   // G
  float beta[kChunkSize];
  float norm[2 * kChunkSize];       // rk, rq
  float from_block[3][kChunkSize];  // exp(G_i - G_j), i the first row of block 1, 2, 3
};

// Two of a lane's numbers of a product of 8 x 8 matrices: rows `row` and the next, column `column`.
__device__ __forceinline__ float2 multiply_rows(const float* a, const float* b, int row,
                                                int column) {
  float x[2] = {};
  const float4* left = reinterpret_cast<const float4*>(a + row * kDiagonalPitch);
#pragma unroll
  for (int k = 0; k < 8; k += 4) {
    const float right[4] = {b[k * kDiagonalPitch + column], b[(k + 1) * kDiagonalPitch + column],
                            b[(k + 2) * kDiagonalPitch + column],
                            b[(k + 3) * kDiagonalPitch + column]};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float4 part = left[i * kDiagonalPitch / 4 + k / 4];
      x[i] += part.x * right[0] + part.y * right[1] + part.z * right[2] + part.w * right[3];
    }
  }
  return make_float2(x[0], x[1]);
}

// The inverses of the two 8 x 8 blocks on the diagonal of the warp's block, a column a lane, in
// place and to the matrix. The other lanes clear what lies above the diagonal in the block of 32
// that the merges read.
__device__ __forceinline__ void invert_halves(float* block, __half* matrix, int warp, int lane) {
  if (lane < 16) {
    const int column = lane % 8;
    float* a = block + lane / 8 * 8 * (kDiagonalPitch + 1);
    float x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float even = i == column ? 1.0F : 0.0F;
      float odd = 0.0F;
#pragma unroll
      for (int k = 0; k < i; k += 4) {
        const float4 part = *reinterpret_cast<const float4*>(&a[i * kDiagonalPitch + k]);
        even -= part.x * x[k];
        odd -= k + 1 < i ? part.y * x[k + 1] : 0.0F;
        even -= k + 2 < i ? part.z * x[k + 2] : 0.0F;
        odd -= k + 3 < i ? part.w * x[k + 3] : 0.0F;
      }
      x[i] = even + odd;
    }
    __half* to = matrix + lane / 8 * 8 * (kPitch + 1) + column;
    __syncwarp(0xffffU);  // all have read A
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      a[i * kDiagonalPitch + column] = x[i];
      to[i * kPitch] = __float2half_rn(x[i]);
    }
  } else {
    __half* row = matrix + (lane - 16) * kPitch;
    if (lane < 24) {
      *reinterpret_cast<uint4*>(row + 8) = make_uint4(0, 0, 0, 0);
    }
    if (warp % 2 == 0) {
      *reinterpret_cast<uint4*>(row + 16) = make_uint4(0, 0, 0, 0);
      *reinterpret_cast<uint4*>(row + 24) = make_uint4(0, 0, 0, 0);
    }
  }
}

// Inverts the warp's diagonal block: [T11, 0; T21, T22] with T21 = -T22 (A21 T11).
__device__ __forceinline__ void invert_diagonal(HeadScratch& scratch, int warp, int lane) {
  float* block = scratch.diagonal[warp];
  float* lower = block + 8 * kDiagonalPitch;
  __half* matrix = &scratch.matrix[16 * warp * (kPitch + 1)];
  const int row = lane / 8 * 2;
  const int column = lane % 8;
  invert_halves(block, matrix, warp, lane);
  __syncwarp();
  const float2 y = multiply_rows(lower, block, row, column);
  float* corner = block + 8;  // not part of A
  corner[row * kDiagonalPitch + column] = y.x;
  corner[(row + 1) * kDiagonalPitch + column] = y.y;
  __syncwarp();
  const float2 x = multiply_rows(lower + 8, corner, row, column);
  matrix[(8 + row) * kPitch + column] = __float2half_rn(-x.x);
  matrix[(9 + row) * kPitch + column] = __float2half_rn(-x.y);
}

}  // namespace deltaserve::cuda
