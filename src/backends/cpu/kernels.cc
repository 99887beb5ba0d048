#include "backends/cpu/kernels.h"

#include "backends/cpu/cpu_info.h"
#include "backends/cpu/isa/tables.h"

namespace deltaserve {

const CpuKernels& cpu_kernels(CpuIsa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case CpuIsa::kPortable:
      return kPortableKernels;
    case CpuIsa::kAvx2:
      return kAvx2Kernels;
    case CpuIsa::kAvx512:
      return kAvx512Kernels;
    case CpuIsa::kAvx512Bf16:
      return is_intel_cpu() ? kAvx512WidenedKernels : kAvx512Bf16Kernels;
    case CpuIsa::kAmx:
      return kAmxKernels;
  }
#endif
  static_cast<void>(isa);
  return kPortableKernels;
}

}  // namespace deltaserve
