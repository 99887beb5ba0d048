// The one place that knows which backends exist: makes a backend by name, and asks a machine for
// the ceilings that figures are printed beside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/backend.h"

namespace deltaserve {

struct BackendOptions {
  std::string name = "auto";  // cuda where its library and a GPU are there, else cpu
  DType compute_dtype = DType::kBF16;
  int32_t threads = 0;  // 0: all cores that the process may use
  std::string cpu_isa;  // "": the best of the machine
  bool numa = true;     // the CPU backend places threads and memory by memory nodes
  // A row's bits depend on its own sequence only. Other backends than cuda always hold to that.
  bool batch_invariant = false;
  // Products of prompts in Gated DeltaNet layers with float16 operands instead of bfloat16; cuda
  // only.
  bool gdn_fp16 = false;
};

// Errors: an unknown backend, one that is not part of this build or whose library, driver or device
// is missing, an option it cannot serve.
Result<std::unique_ptr<Backend>> make_backend(const BackendOptions& options);

// The backend that "auto" stands for on this machine; any other name is returned as it is.
std::string resolve_backend(const std::string& name);

struct MachineCeilings {  // measured, on the CPU with `threads` threads
  double read_gb_per_s = 0.0;
  double matrix_gflop_per_s = 0.0;  // of the instructions that matrices use in this dtype
};

Result<MachineCeilings> measure_ceilings(const BackendOptions& options);

// Lines for `doctor`: name and value.
std::vector<std::pair<std::string, std::string>> describe_machine(const BackendOptions& options);

}  // namespace deltaserve
