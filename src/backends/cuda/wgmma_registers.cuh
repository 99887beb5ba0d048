// The warpgroup matrix product (see wgmma.cuh) with its first operand in registers: D[64 x 128] +=
// A[64 x 16] B[16 x 128], for bfloat16 and float16 operands with float32 sums.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "backends/cuda/wgmma.cuh"

namespace deltaserve::cuda {

#define DELTASERVE_D8(d, i)                                                                   \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define DELTASERVE_D64(d)                                                               \
  DELTASERVE_D8(d, 0), DELTASERVE_D8(d, 8), DELTASERVE_D8(d, 16), DELTASERVE_D8(d, 24), \
      DELTASERVE_D8(d, 32), DELTASERVE_D8(d, 40), DELTASERVE_D8(d, 48), DELTASERVE_D8(d, 56)
#define DELTASERVE_A4(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
#define DELTASERVE_WGMMA_N128(type)                                                              \
  "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type                                   \
  " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "   \
  "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "   \
  "%56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, "

#define DELTASERVE_WGMMA_N128_IF(type, transposed)                              \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %69, 0;\n" DELTASERVE_WGMMA_N128( \
                   type) "p, 1, 1, " transposed ";}"                            \
               : DELTASERVE_D64(d)                                              \
               : DELTASERVE_A4(a), "l"(b), "r"(static_cast<int>(accumulate)))

// B in shared memory with rows along K. `accumulate` false: D is written.
template <typename Operand>
__device__ __forceinline__ void wgmma_n128(float (&d)[64], const uint32_t* a, uint64_t b,
                                           bool accumulate) {
  if constexpr (std::is_same_v<Operand, __half>) {
    DELTASERVE_WGMMA_N128_IF("f16", "0");
  } else {
    DELTASERVE_WGMMA_N128_IF("bf16", "0");
  }
}

// The same with B's rows along N (transposed).
template <typename Operand>
__device__ __forceinline__ void wgmma_n128_transposed(float (&d)[64], const uint32_t* a, uint64_t b,
                                                      bool accumulate) {
  if constexpr (std::is_same_v<Operand, __half>) {
    DELTASERVE_WGMMA_N128_IF("f16", "1");
  } else {
    DELTASERVE_WGMMA_N128_IF("bf16", "1");
  }
}

#undef DELTASERVE_WGMMA_N128_IF
#undef DELTASERVE_D8
#undef DELTASERVE_D64
#undef DELTASERVE_A4
#undef DELTASERVE_WGMMA_N128

}  // namespace deltaserve::cuda
