// The warpgroup matrix product (see wgmma.cuh) with weights as its 64 rows and tokens as its
// columns: one form for every 16 tokens up to 160, so that an expert with few tokens costs what
// these take.
#pragma once

#include <cstdint>

#include "backends/cuda/wgmma.cuh"

namespace deltaserve::cuda {

#define DELTASERVE_D8(d, i)                                                                   \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])

#define DELTASERVE_NAMES8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define DELTASERVE_OUT8(d) DELTASERVE_D8(d, 0)
#define DELTASERVE_NAMES16 DELTASERVE_NAMES8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define DELTASERVE_OUT16(d) DELTASERVE_OUT8(d), DELTASERVE_D8(d, 8)
#define DELTASERVE_NAMES24 DELTASERVE_NAMES16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define DELTASERVE_OUT24(d) DELTASERVE_OUT16(d), DELTASERVE_D8(d, 16)
#define DELTASERVE_NAMES32 DELTASERVE_NAMES24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define DELTASERVE_OUT32(d) DELTASERVE_OUT24(d), DELTASERVE_D8(d, 24)
#define DELTASERVE_NAMES40 DELTASERVE_NAMES32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define DELTASERVE_OUT40(d) DELTASERVE_OUT32(d), DELTASERVE_D8(d, 32)
#define DELTASERVE_NAMES48 DELTASERVE_NAMES40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define DELTASERVE_OUT48(d) DELTASERVE_OUT40(d), DELTASERVE_D8(d, 40)
#define DELTASERVE_NAMES56 DELTASERVE_NAMES48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define DELTASERVE_OUT56(d) DELTASERVE_OUT48(d), DELTASERVE_D8(d, 48)
#define DELTASERVE_NAMES64 DELTASERVE_NAMES56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define DELTASERVE_OUT64(d) DELTASERVE_OUT56(d), DELTASERVE_D8(d, 56)
#define DELTASERVE_NAMES72 DELTASERVE_NAMES64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define DELTASERVE_OUT72(d) DELTASERVE_OUT64(d), DELTASERVE_D8(d, 64)
#define DELTASERVE_NAMES80 DELTASERVE_NAMES72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define DELTASERVE_OUT80(d) DELTASERVE_OUT72(d), DELTASERVE_D8(d, 72)

// D[64 x n] (+)= A B for `count` = n / 2 accumulators a thread, both operands in shared memory with
// rows along K. `accumulate` false: D is written.
#define DELTASERVE_WGMMA(count, n, a_name, b_name, p_name)                                  \
  __device__ __forceinline__ void wgmma_tokens(float(&d)[count], uint64_t a, uint64_t b,    \
                                               bool accumulate) {                           \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #p_name                                  \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n                               \
                 "k16.f32.bf16.bf16 {" DELTASERVE_NAMES##count "}, %" #a_name ", %" #b_name \
                                                               ", p, 1, 1, 0, 0;}"          \
                 : DELTASERVE_OUT##count(d)                                                 \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                      \
  }

DELTASERVE_WGMMA(8, 16, 8, 9, 10)
DELTASERVE_WGMMA(16, 32, 16, 17, 18)
DELTASERVE_WGMMA(24, 48, 24, 25, 26)
DELTASERVE_WGMMA(32, 64, 32, 33, 34)
DELTASERVE_WGMMA(40, 80, 40, 41, 42)
DELTASERVE_WGMMA(48, 96, 48, 49, 50)
DELTASERVE_WGMMA(56, 112, 56, 57, 58)
DELTASERVE_WGMMA(64, 128, 64, 65, 66)
DELTASERVE_WGMMA(72, 144, 72, 73, 74)
DELTASERVE_WGMMA(80, 160, 80, 81, 82)

#undef DELTASERVE_WGMMA
#undef DELTASERVE_D8
#undef DELTASERVE_NAMES8
#undef DELTASERVE_OUT8
#undef DELTASERVE_NAMES16
#undef DELTASERVE_OUT16
#undef DELTASERVE_NAMES24
#undef DELTASERVE_OUT24
#undef DELTASERVE_NAMES32
#undef DELTASERVE_OUT32
#undef DELTASERVE_NAMES40
#undef DELTASERVE_OUT40
#undef DELTASERVE_NAMES48
#undef DELTASERVE_OUT48
#undef DELTASERVE_NAMES56
#undef DELTASERVE_OUT56
#undef DELTASERVE_NAMES64
#undef DELTASERVE_OUT64
#undef DELTASERVE_NAMES72
#undef DELTASERVE_OUT72
#undef DELTASERVE_NAMES80
#undef DELTASERVE_OUT80

}  // namespace deltaserve::cuda
