// The cases of test_ops: the CPU backend with every instruction set of this machine.
#include <gtest/gtest.h>

#include "conformance.h"

namespace deltaserve {

std::string case_name(const BackendCase& backend_case) {
  return std::string(cpu_isa_name(backend_case.isa)) + "_" +
         std::string(dtype_name(backend_case.x_dtype));
}

std::vector<BackendCase> all_cases() {
  std::vector<BackendCase> cases;
  for (const CpuIsa isa : kCpuIsas) {
    for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
      const CpuOptions options{.compute_dtype = x_dtype, .threads = 1, .isa = isa};
      if (make_cpu_backend(options).has_value()) {
        cases.push_back({.x_dtype = x_dtype, .isa = isa});
      }
    }
  }
  return cases;
}

std::vector<BackendCase> bit_exact_cases() {
  return all_cases();
}

std::vector<BackendCase> delta_rule_cases() {
  return all_cases();
}

std::unique_ptr<Backend> make_case_backend(const BackendCase& backend_case) {
  auto backend = make_cpu_backend({.compute_dtype = backend_case.x_dtype,
                                   .threads = backend_case.threads,
                                   .isa = backend_case.isa});
  auto reserved = (*backend)->reserve(
      {.max_tokens = backend_case.max_tokens, .max_seqs = 64, .max_model_len = 8192});
  EXPECT_TRUE(reserved.has_value());
  return std::move(*backend);
}

}  // namespace deltaserve
