// What the device of a test is, where a backend must have taken a kernel of its own and a test that
// compares results only would not see that it did not.
#pragma once

#include <cuda_runtime_api.h>

#include "conformance.h"

namespace deltaserve {

// A device of sm_90 and a backend that has the kernels for it.
inline bool has_hopper_kernels(const BackendCase& backend_case) {
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  return major == 9 && backend_case.x_dtype == DType::kBF16;
}

// The same of an H100 or H200, over whose multiprocessors the widths of the tests can be dealt.
inline bool has_hopper_products(const BackendCase& backend_case) {
  int count = 0;
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
  return count == 132 && has_hopper_kernels(backend_case) && !backend_case.batch_invariant;
}

}  // namespace deltaserve
