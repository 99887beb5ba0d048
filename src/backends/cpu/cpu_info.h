// What the machine and the process' limits allow: vector instruction sets (CPUID, and XCR0 for what
// the kernel saves), cores (affinity and cgroup quota) and memory (cgroup limit).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/cpu_backend.h"

namespace deltaserve {

bool cpu_supports(CpuIsa isa);

bool is_intel_cpu();

// Bytes left under the cgroup's memory limit; SIZE_MAX if there is none.
size_t cgroup_memory_left();

}  // namespace deltaserve
