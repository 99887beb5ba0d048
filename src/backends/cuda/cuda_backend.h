// The CUDA backend: own kernels and cuBLASLt, one stream, everything allocated before the first
// step. It is a shared library of its own, so that one program serves machines with and without a
// GPU; this is what the program needs to know of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/backend.h"

namespace deltaserve {

struct CudaOptions {
  DType compute_dtype = DType::kBF16;  // kF32 or kBF16
  int32_t device = 0;                  // of those that CUDA_VISIBLE_DEVICES leaves
  bool batch_invariant = false;        // a row's bits depend on its own sequence only
  bool fp16_delta_rule = false;        // float16 operands in prompts of delta layers, not bfloat16
};

struct CudaCeilings {
  double read_gb_per_s = 0.0;
  double matrix_gflop_per_s = 0.0;  // of large matrices in the compute dtype
};

// What the library gives: looked up by name once, then called like any function.
struct CudaPlugin {
  // Digest of the headers it was built with; the program refuses another's.
  const char* interface;
  // Errors: no driver or one that is too old, no device, a device this build has no kernels for, a
  // dtype that is not served, an op or form of it that is not part of the build.
  Result<std::unique_ptr<Backend>> (*make)(const CudaOptions& options);
  Result<CudaCeilings> (*measure_ceilings)(const CudaOptions& options);
  // Lines for `doctor`: name and value. Errors as above.
  Result<std::vector<std::pair<std::string, std::string>>> (*describe)(const CudaOptions& options);
};

inline constexpr const char* kCudaPluginSymbol = "deltaserve_cuda_plugin";
using CudaPluginFunction = const CudaPlugin* (*)();

}  // namespace deltaserve
