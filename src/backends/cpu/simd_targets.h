// Which Highway targets the row ops are compiled for, and the choice among them by the CpuIsa that
// the backend was made with (not by Highway's own detection, so that a forced set is honoured).
// Include before hwy/foreach_target.h, which must come before hwy/highway.h. Widths beyond AVX-512
// add nothing here: bfloat16 and AMX sets use the AVX-512 code.
#pragma once

// The portable set is Highway's emulation on the baseline; SSE levels in between are not worth
// their build time, and AVX3_DL adds no instruction that is used.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

#include <hwy/detect_compiler_arch.h>

#include "backends/cpu/cpu_backend.h"

#if HWY_ARCH_X86
// The function `name` of this file's HWY_NAMESPACE for `isa`. Use under HWY_ONCE.
#define DS_SIMD_FUNCTION(isa, name)         \
  ((isa) >= CpuIsa::kAvx512 ? &N_AVX3::name \
   : (isa) == CpuIsa::kAvx2 ? &N_AVX2::name \
                            : &HWY_STATIC_DISPATCH(name))
#else
#define DS_SIMD_FUNCTION(isa, name) (static_cast<void>(isa), &HWY_STATIC_DISPATCH(name))
#endif
