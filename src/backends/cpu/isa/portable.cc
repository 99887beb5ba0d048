// Kernels for any machine: four lanes of the compiler's vector type.
#include "backends/cpu/isa/int_vec_portable.h"
#include "backends/cpu/isa/tables.h"
// The code over Vec follows its definition.
#include "backends/cpu/isa/table.inc"

namespace deltaserve {

constexpr CpuKernels kPortableKernels =
    vec_kernels("portable", "portable bf16 widened", "portable f32 x bf16", "portable f32",
                "portable int8 x 14 bits", "portable int4 x 8 bits");

}  // namespace deltaserve
