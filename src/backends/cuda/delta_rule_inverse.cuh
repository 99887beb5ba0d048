// T = (I + A)^-1 of a chunk by one warpgroup: blocks of 8 on the diagonal by forward
// substitution, merged to 16, in float32; then two merges to 32 and 64 with float16 operands (all
// |T_ij| <= 1) and float32 sums, each T21 = -T22 (A21 T11). bfloat16 would cost two digits there,
// and a series in A grows before it shrinks.
#pragma once

#include "backends/cuda/delta_rule_diagonal.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/mma.cuh"

namespace deltaserve::cuda {

// C[16 x 16 N] = A[16 x 16 K] B[16 K x 16 N], all in one matrix of pitch kPitch.
template <int N, int K>
__device__ __forceinline__ void multiply_blocks(float (&c)[2 * N][4], uint32_t a, uint32_t b,
                                                int lane) {
  const int row = lane % 8 + lane / 8 % 2 * 8;
  const int column = lane / 16 * 8;
#pragma unroll
  for (int n = 0; n < 2 * N; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      c[n][i] = 0.0F;
    }
  }
#pragma unroll
  for (int k = 0; k < K; ++k) {
    uint32_t left[4];
    load_tiles(left, a + row * kRowBytes + (k * 16 + column) * 2);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      uint32_t right[4];
      load_tiles_transposed(right, b + (k * 16 + row) * kRowBytes + (n * 16 + column) * 2);
      mma_half(c[2 * n], left, right[0], right[1]);
      mma_half(c[2 * n + 1], left, right[2], right[3]);
    }
  }
}

template <int N>
__device__ __forceinline__ void put_blocks(const float (&c)[2 * N][4], __half* to, int lane,
                                           float sign) {
  __half* at = to + lane / 4 * kPitch + lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < 2 * N; ++n) {
    *reinterpret_cast<uint32_t*>(at + n * 8) = pack_half(sign * c[n][0], sign * c[n][1]);
    *reinterpret_cast<uint32_t*>(at + 8 * kPitch + n * 8) =
        pack_half(sign * c[n][2], sign * c[n][3]);
  }
}

// T of the whole chunk from its diagonal blocks; ends with a barrier of the warpgroup.
__device__ __forceinline__ void merge_inverse(HeadScratch& scratch, int warp, int lane,
                                              int barrier) {
  __half* matrix = scratch.matrix;
  const uint32_t base = shared_address(matrix);
  if (warp % 2 == 1) {
    const int corner = 16 * (warp - 1) * (kPitch + 1);  // of the 32 x 32 block
    const uint32_t block = base + corner * 2;
    __half* lower = matrix + corner + 16 * kPitch;
    float y[2][4];
    multiply_blocks<1, 1>(y, block + 16 * kRowBytes, block, lane);
    __syncwarp();
    put_blocks<1>(y, lower, lane, 1.0F);
    __syncwarp();
    multiply_blocks<1, 1>(y, block + 16 * kRowBytes + 32, block + 16 * kRowBytes, lane);
    __syncwarp();
    put_blocks<1>(y, lower, lane, -1.0F);
  }
  named_barrier<kGroup>(barrier);
  if (warp >= 2) {
    const uint32_t rows = base + 16 * warp * kRowBytes;
    __half* to = matrix + 16 * warp * kPitch;
    const int pair = barrier + 8;  // the two lower warps
    float y[4][4];
    multiply_blocks<2, 2>(y, rows, base, lane);
    __syncwarp();
    put_blocks<2>(y, to, lane, 1.0F);
    named_barrier<64>(pair);
    if (warp == 2) {
      multiply_blocks<2, 1>(y, rows + 64, base + 32 * kRowBytes, lane);
    } else {
      multiply_blocks<2, 2>(y, rows + 64, base + 32 * kRowBytes, lane);
    }
    named_barrier<64>(pair);
    put_blocks<2>(y, to, lane, -1.0F);
  }
  named_barrier<kGroup>(barrier);
}

}  // namespace deltaserve::cuda
