// Finding the device and making the backend; inside the library.
#pragma once

#include <memory>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/cuda_context.h"

namespace deltaserve {

// Errors: as CudaPlugin::make, as far as the device is concerned.
Result<CudaDevice> find_cuda_device(int32_t ordinal);

Result<std::unique_ptr<Backend>> make_cuda_backend(const CudaOptions& options);

}  // namespace deltaserve
