// Emulated tiles need no permission; the kernels around them are compiled for AVX-512.
#include "backends/cpu/amx_permission.h"

#include "backends/cpu/cpu_info.h"

namespace deltaserve {

bool amx_granted() {
  return cpu_supports(CpuIsa::kAvx512);
}

}  // namespace deltaserve
