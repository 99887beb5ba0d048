// The warp matrix instructions of sm_80 and later: 8x8 tiles of 16-bit numbers between shared
// memory and registers, and D[16 x 8] += A[16 x 16] B[16 x 8]. `row_address` is, per lane, the
// shared address of one row of a tile: lanes 0-7 of tile 0, 8-15 of tile 1, and so on.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace deltaserve::cuda {

// Four tiles; lane (g, t) = (lane / 4, lane % 4) gets elements 2 t and 2 t + 1 of row g of each.
__device__ __forceinline__ void load_tiles(uint32_t* tiles, uint32_t row_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(row_address)
               : "memory");
}

// The same of the transposed tiles.
__device__ __forceinline__ void load_tiles_transposed(uint32_t* tiles, uint32_t row_address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(row_address)
               : "memory");
}

// Stores four tiles transposed (sm_90).
__device__ __forceinline__ void store_tiles_transposed(uint32_t row_address, uint32_t a, uint32_t b,
                                                       uint32_t c, uint32_t d) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address),
      "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}

__device__ __forceinline__ uint32_t pack_half(float low, float high) {
  uint32_t word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ __forceinline__ float2 unpack_half(uint32_t word) {
  return __half22float2(*reinterpret_cast<__half2*>(&word));
}

// float16 operands, float32 sums.
__device__ __forceinline__ void mma_half(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace deltaserve::cuda
