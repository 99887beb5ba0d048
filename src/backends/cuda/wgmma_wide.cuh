// More shapes of the warpgroup matrix product (see wgmma.cuh): those of attention over heads of 256
// and of products of many rows.
#pragma once

#include <cstdint>

#include "backends/cuda/wgmma.cuh"

namespace deltaserve::cuda {

// Waits until at most N committed groups of this warpgroup are under way.
template <int N>
__device__ __forceinline__ void wgmma_wait_for() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

#define DELTASERVE_D8(d, i)                                                                   \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define DELTASERVE_D32(d, i) \
  DELTASERVE_D8(d, i), DELTASERVE_D8(d, i + 8), DELTASERVE_D8(d, i + 16), DELTASERVE_D8(d, i + 24)
#define DELTASERVE_NAMES40                                                                \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
  "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, " \
  "%36, %37, %38, %39"
#define DELTASERVE_NAMES64                                                             \
  DELTASERVE_NAMES40                                                                   \
  ", %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
  "%56, %57, %58, %59, %60, %61, %62, %63"
#define DELTASERVE_NAMES128                                                               \
  DELTASERVE_NAMES64                                                                      \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "    \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, " \
  "%97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "     \
  "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "  \
  "%125, %126, %127"

// D[64 x 80] (+)= A B, both in shared memory with rows along K. `accumulate` false: D is written.
__device__ __forceinline__ void wgmma_n80_shared(float (&d)[40], uint64_t a, uint64_t b,
                                                 bool accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %42, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 {" DELTASERVE_NAMES40
      "}, %40, %41, p, 1, 1, 0, 0;}"
      : DELTASERVE_D32(d, 0), DELTASERVE_D8(d, 32)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// D[64 x 128] (+)= A B, the same.
__device__ __forceinline__ void wgmma_n128_shared(float (&d)[64], uint64_t a, uint64_t b,
                                                  bool accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" DELTASERVE_NAMES64
      "}, %64, %65, p, 1, 1, 0, 0;}"
      : DELTASERVE_D32(d, 0), DELTASERVE_D32(d, 32)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// D[64 x 256] (+)= A B, the same.
__device__ __forceinline__ void wgmma_n256_shared(float (&d)[128], uint64_t a, uint64_t b,
                                                  bool accumulate) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" DELTASERVE_NAMES128
      "}, %128, %129, p, 1, 1, 0, 0;}"
      : DELTASERVE_D32(d, 0), DELTASERVE_D32(d, 32), DELTASERVE_D32(d, 64), DELTASERVE_D32(d, 96)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// D[64 x 256] += A B: A in four registers, B in shared memory with rows along N (transposed).
__device__ __forceinline__ void wgmma_n256_transposed(float (&d)[128], const uint32_t* a,
                                                      uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" DELTASERVE_NAMES128
               "}, {%128, %129, %130, %131}, %132, 1, 1, 1, 1;"
               : DELTASERVE_D32(d, 0), DELTASERVE_D32(d, 32), DELTASERVE_D32(d, 64),
                 DELTASERVE_D32(d, 96)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef DELTASERVE_D8
#undef DELTASERVE_D32
#undef DELTASERVE_NAMES40
#undef DELTASERVE_NAMES64
#undef DELTASERVE_NAMES128

}  // namespace deltaserve::cuda
