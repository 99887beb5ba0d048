// What a chunk of a value head is solved in, in shared memory: the lower triangles of 64 x 64
// matrices as their ten blocks of 16 x 16, each four times eight rows of 16 bytes, so that a warp
// writes accumulators and reads operands a block at a time without bank conflicts.
#pragma once

#include "backends/cuda/delta_rule_solved.cuh"

namespace deltaserve::cuda {

inline constexpr int kTriangleBytes = kSteps * (kSteps + 1) / 2 * kBlockBytes;
inline constexpr int kDiagonalPitch = 20;  // floats per row of a block in float32

// Where block (row, column) of a triangle is, row >= column.
__host__ __device__ constexpr int triangle_block(int row, int column) {
  return (row * (row + 1) / 2 + column) * kBlockBytes;
}

struct alignas(16) HeadScratch {
  char lower[kTriangleBytes];  // float16: -A below the diagonal blocks, those of T transposed
  char p[kTriangleBytes];      // float16: P
  float diagonal[kSteps][16 * kDiagonalPitch];  // diagonal blocks of -A
};

// The scalars of a chunk's rows, for a value head.
struct alignas(16) HeadGates {
  float sum[kChunkSize];  // G, as binary logarithms
  float beta[kChunkSize];
  float from_block[kSteps - 1][kChunkSize];  // exp(G_i - G_j), i the first row of block 1, 2, 3
};

}  // namespace deltaserve::cuda
