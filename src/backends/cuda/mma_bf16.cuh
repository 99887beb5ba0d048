// The bfloat16 form of the warp matrix product (see mma.cuh for tiles and fragments), and what
// attention needs around it.
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/mma.cuh"

namespace deltaserve::cuda {

// d [16 x 8] += a [16 x 16] b [16 x 8]. Lane (g, t): a holds (rows g, columns 2t..), (g + 8, 2t..),
// (g, 2t + 8..), (g + 8, 2t + 8..); b0, b1 rows 2t.. and 2t + 8.. of column g; d row g, columns 2t
// and 2t + 1, then row g + 8.
__device__ __forceinline__ void mma_bf16(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                         uint32_t a3, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// The transpose of an 8x8 tile of 16-bit values that lies in the lanes of a warp.
__device__ __forceinline__ uint32_t transpose_tile(uint32_t tile) {
  uint32_t out;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(tile));
  return out;
}

}  // namespace deltaserve::cuda
