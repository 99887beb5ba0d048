// What this machine can do at most, measured in the same run as whatever is compared with it.
#pragma once

#include "backends/cpu/cpu_backend.h"

namespace deltaserve {

struct CpuCeilings {
  double read_gb_per_s = 0.0;     // streaming read of up to 1 GiB, all threads
  double fma_gflop_per_s = 0.0;   // float32 multiply-adds in registers, all threads
  double bf16_gflop_per_s = 0.0;  // bfloat16 products; of a set without them, the same as above
};

// Takes about a second and, meanwhile, up to 1 GiB of memory. Figures are 0 if the machine lacks
// the instruction set.
CpuCeilings measure_cpu_ceilings(const CpuOptions& options);

}  // namespace deltaserve
