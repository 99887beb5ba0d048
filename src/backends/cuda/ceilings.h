// What the device can do at best, measured: the figures that others are printed beside.
#pragma once

#include "backends/cuda/cuda_backend.h"

namespace deltaserve {

// A read of 4 GiB and a square matrix product, the fastest of some repetitions: under a second.
// Errors: as CudaPlugin::make, as far as the device is concerned; no memory.
Result<CudaCeilings> measure_cuda_ceilings(const CudaOptions& options);

}  // namespace deltaserve
