// Kernels for AVX2 with FMA: bfloat16 weights widened by a shift and a mask.
#include "backends/cpu/isa/int_vec_avx2.h"
#include "backends/cpu/isa/tables.h"
// The code over Vec follows its definition.
#include "backends/cpu/isa/table.inc"

namespace deltaserve {

constexpr CpuKernels kAvx2Kernels =
    vec_kernels("avx2", "avx2 bf16 widened + FMA", "avx2 f32 x bf16 FMA", "avx2 f32 FMA",
                "avx2 int8 x 14 bits VPMADDUBSW", "avx2 int4 x 8 bits VPMADDUBSW");

}  // namespace deltaserve
