// Reading of memory for its own sake: the ceiling of everything that is bound by bandwidth.
#pragma once

#include <cstddef>

#include "backends/cuda/cuda_context.h"

namespace deltaserve {

// Fills memory with numbers of order one in the compute dtype: products of zeros take less power,
// and then the clock is higher than any model will see.
void launch_fill_random(const CudaContext& context, void* to, size_t bytes);

// Reads `bytes` of such memory once.
void launch_read_all(CudaContext& context, const void* from, size_t bytes);

}  // namespace deltaserve
