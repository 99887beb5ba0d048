// The kernel tables there are. Call what they hold only where cpu_supports() says so.
#pragma once

#include "backends/cpu/isa/kernel_table.h"

namespace deltaserve {

extern const CpuKernels kPortableKernels;
#if defined(__x86_64__)
extern const CpuKernels kAvx2Kernels;
extern const CpuKernels kAvx512Kernels;
extern const CpuKernels kAvx512Bf16Kernels;
// The same bits without VDPBF16PS, which Intel's cores make half as many products with in a cycle
// as with float32 FMA: 8 rows from L2, 95 against 163 GFLOP/s.
extern const CpuKernels kAvx512WidenedKernels;
extern const CpuKernels kAmxKernels;
#endif

}  // namespace deltaserve
