// Kernels for AVX-512 (F, BW, DQ, VL) without bfloat16 instructions.
#include "backends/cpu/isa/int_vec_avx512.h"
#include "backends/cpu/isa/tables.h"
// The code over Vec follows its definition.
#include "backends/cpu/isa/table.inc"

namespace deltaserve {

constexpr CpuKernels kAvx512Kernels =
    vec_kernels("avx512", "avx512 bf16 widened + FMA", "avx512 f32 x bf16 FMA", "avx512 f32 FMA",
                "avx512 int8 x 14 bits VPMADDUBSW", "avx512 int4 x 8 bits VPMADDUBSW");

}  // namespace deltaserve
