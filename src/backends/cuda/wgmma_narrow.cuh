// The warpgroup matrix product (see wgmma.cuh) for few columns: D[64 x N] += A[64 x 16] B[16 x N]
// with N of 8, 16 or 32, both operands in shared memory with rows along K.
#pragma once

#include <cstdint>

#include "backends/cuda/wgmma.cuh"

namespace deltaserve::cuda {

#define DELTASERVE_D4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

__device__ __forceinline__ void wgmma_narrow(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, "
      "0;"
      : DELTASERVE_D4(d, 0)
      : "l"(a), "l"(b));
}

__device__ __forceinline__ void wgmma_narrow(float (&d)[8], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, "
      "%9, 1, 1, 1, 0, 0;"
      : DELTASERVE_D4(d, 0), DELTASERVE_D4(d, 4)
      : "l"(a), "l"(b));
}

__device__ __forceinline__ void wgmma_narrow(float (&d)[16], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, "
      "%9, %10, %11, %12, %13, %14, %15}, %16, %17, 1, 1, 1, 0, 0;"
      : DELTASERVE_D4(d, 0), DELTASERVE_D4(d, 4), DELTASERVE_D4(d, 8), DELTASERVE_D4(d, 12)
      : "l"(a), "l"(b));
}

#undef DELTASERVE_D4

}  // namespace deltaserve::cuda
