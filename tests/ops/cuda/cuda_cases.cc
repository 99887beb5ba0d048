// The cases of test_ops_cuda: the CUDA backend in both compute dtypes. Needs a device to run.
#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.h"
#include "conformance.h"

extern "C" const deltaserve::CudaPlugin* deltaserve_cuda_plugin();

namespace deltaserve {

std::string case_name(const BackendCase& backend_case) {
  return std::string(dtype_name(backend_case.x_dtype)) +
         (backend_case.batch_invariant ? "_batch_invariant" : "") +
         (backend_case.fp16_delta_rule ? "_fp16_delta_rule" : "");
}

std::vector<BackendCase> all_cases() {
  return {{.x_dtype = DType::kF32},
          {.x_dtype = DType::kBF16},
          {.x_dtype = DType::kBF16, .batch_invariant = true}};
}

// The form with float16 products is of devices with sm_90a.
std::vector<BackendCase> delta_rule_cases() {
  std::vector<BackendCase> cases = all_cases();
  const BackendCase fp16 = {.x_dtype = DType::kBF16, .fp16_delta_rule = true};
  if (deltaserve_cuda_plugin()->make(
          {.compute_dtype = fp16.x_dtype, .fp16_delta_rule = fp16.fp16_delta_rule})) {
    cases.push_back(fp16);
  }
  return cases;
}

// Without the flag matrices and experts choose a kernel by the number of rows.
std::vector<BackendCase> bit_exact_cases() {
  return {{.x_dtype = DType::kF32, .batch_invariant = true},
          {.x_dtype = DType::kBF16, .batch_invariant = true}};
}

std::unique_ptr<Backend> make_case_backend(const BackendCase& backend_case) {
  auto backend = deltaserve_cuda_plugin()->make({.compute_dtype = backend_case.x_dtype,
                                                 .batch_invariant = backend_case.batch_invariant,
                                                 .fp16_delta_rule = backend_case.fp16_delta_rule});
  if (!backend) {
    throw std::runtime_error(backend.error().message);
  }
  auto reserved = (*backend)->reserve(
      {.max_tokens = backend_case.max_tokens, .max_seqs = 64, .max_model_len = 8192});
  EXPECT_TRUE(reserved.has_value());
  return std::move(*backend);
}

}  // namespace deltaserve
