// Chooses the kernel table of an instruction set. Decided once, when a backend is made.
#pragma once

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/isa/kernel_table.h"

namespace deltaserve {

// The machine must support `isa` to call what the table holds.
const CpuKernels& cpu_kernels(CpuIsa isa);

}  // namespace deltaserve
