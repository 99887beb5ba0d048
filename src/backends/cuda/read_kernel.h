// Reading of memory for its own sake: the ceiling of everything that is bound by bandwidth.
#pragma once

#include <cstddef>

#include "backends/cuda/cuda_context.h"

namespace deltaserve {

// Reads `bytes` of zeroed memory once.
void launch_read_all(CudaContext& context, const void* from, size_t bytes);

}  // namespace deltaserve
