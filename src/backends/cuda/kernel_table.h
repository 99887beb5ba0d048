// Which kernel serves what on this device: rows for `doctor`, and what must be refused at load.
#pragma once

#include <vector>

#include "backends/cuda/cuda_context.h"
#include "base/error.h"
#include "ops/backend.h"

namespace deltaserve {

std::vector<KernelInfo> cuda_kernel_table(const CudaContext& context);

// Errors: head sizes that no kernel here serves.
Result<void> check_cuda_shape(const CudaContext& context, const CacheShape& shape);

Result<void> check_cuda_vision_shape(const VisionShape& shape);

}  // namespace deltaserve
