// Lines for `doctor`: what memory nodes there are, what is placed on them, and large pages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.h"

namespace deltaserve {

std::vector<std::pair<std::string, std::string>> describe_cpu_memory(const CpuOptions& options);

}  // namespace deltaserve
