// More shapes of the warpgroup matrix product (see wgmma.cuh): the second product of attention over
// heads of up to 80, whose dimensions lie as 64 in rows of 128 bytes and 16 more in rows of 32.
#pragma once

#include <cstdint>

#include "backends/cuda/wgmma.cuh"

namespace deltaserve::cuda {

// An operand in shared memory in rows of 32 bytes, 16 elements, swizzled: the 16-byte halves of a
// row change places in every second group of four rows. `stride` is 256 where rows lie one after
// the other, along K or across it.
__device__ __forceinline__ uint64_t wgmma_operand_32(uint32_t address, uint32_t stride) {
  constexpr uint64_t kSwizzle32 = uint64_t{3} << 62;
  constexpr uint64_t kNoLeading = uint64_t{1} << 16;  // not read: there is one column of pieces
  return static_cast<uint64_t>((address & 0x3ffffU) >> 4) | kNoLeading |
         (static_cast<uint64_t>(stride >> 4) << 32) | kSwizzle32;
}

#define DELTASERVE_D8(d, i)                                                                   \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])

// D[64 x 64] += A B: A in four registers, B in shared memory with rows along N (transposed).
__device__ __forceinline__ void wgmma_n64_transposed(float (&d)[32], const uint32_t* a,
                                                     uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, "
      "%9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, "
      "%27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
      : DELTASERVE_D8(d, 0), DELTASERVE_D8(d, 8), DELTASERVE_D8(d, 16), DELTASERVE_D8(d, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// D[64 x 16] += A B, the same.
__device__ __forceinline__ void wgmma_n16_transposed(float (&d)[8], const uint32_t* a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, "
      "%9, %10, %11}, %12, 1, 1, 1, 1;"
      : DELTASERVE_D8(d, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef DELTASERVE_D8

}  // namespace deltaserve::cuda
