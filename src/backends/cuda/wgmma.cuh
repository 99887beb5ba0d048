// The warpgroup matrix product of sm_90a for bfloat16 with float32 sums: D[64 x N] += A[64 x 16]
// B[16 x N]. A warpgroup's four warps hold 16 rows of D each; thread (g, t) = (lane / 4, lane % 4)
// holds, for every block j of eight columns, D[g][8 j + 2 t], the next column, and both of row
// g + 8, as elements 4 j .. 4 j + 3. Two such words packed to 16 bits are A's layout, so that a
// product's result is the next one's operand without leaving the registers.
#pragma once

#include <cstdint>

namespace deltaserve::cuda {

// An operand in shared memory in rows of 128 bytes, swizzled (each group of eight rows with its
// 16-byte pieces permuted by the row's number): `stride` bytes from one group of eight rows to the
// next. If the rows run along the product's own dimension ("transposed"), `leading` is the distance
// of the next 64 columns.
__device__ __forceinline__ uint64_t wgmma_operand(uint32_t address, uint32_t leading,
                                                  uint32_t stride) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  return static_cast<uint64_t>((address & 0x3ffffU) >> 4) |
         (static_cast<uint64_t>(leading >> 4) << 16) | (static_cast<uint64_t>(stride >> 4) << 32) |
         kSwizzle128;
}

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// Keeps the compiler from moving registers of a product in flight: before the fence and after the
// wait.
template <int N>
__device__ __forceinline__ void pin(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    asm volatile("" : "+f"(x[i])::"memory");
  }
}
template <int N>
__device__ __forceinline__ void pin(uint32_t (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    asm volatile("" : "+r"(x[i])::"memory");
  }
}

// Operand lists of the instruction: 32 accumulators.
#define DELTASERVE_D8(d, i)                                                                   \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define DELTASERVE_D32(d, i) \
  DELTASERVE_D8(d, i), DELTASERVE_D8(d, i + 8), DELTASERVE_D8(d, i + 16), DELTASERVE_D8(d, i + 24)
#define DELTASERVE_NAMES32                                                                     \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"

// D[64 x 64] (+)= A B, both in shared memory with rows along K. `accumulate` false: D is written.
__device__ __forceinline__ void wgmma_n64_shared(float (&d)[32], uint64_t a, uint64_t b,
                                                 bool accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" DELTASERVE_NAMES32
      "}, %32, %33, p, 1, 1, 0, 0;}"
      : DELTASERVE_D32(d, 0)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

#undef DELTASERVE_D8
#undef DELTASERVE_D32
#undef DELTASERVE_NAMES32

}  // namespace deltaserve::cuda
