// Recorded decode steps. A step launches some hundreds of kernels, and repeating a graph of them
// costs the host one call. The first step of a key runs as it is, so that kernels find out what
// scratch they need; the second is recorded. Graphs take device memory, too: at most
// kStepGraphBytes, which the memory plan counts.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <map>

#include "backends/cuda/cuda_context.h"
#include "ops/backend.h"

namespace deltaserve {

// Room for 74,898 kernels, as many as 256 steps of 292 launch.
inline constexpr int64_t kStepGraphBytes = int64_t{256} << 20;

class StepGraphs {
 public:
  explicit StepGraphs(CudaContext& context) : context_(context) {}
  StepGraphs(const StepGraphs&) = delete;
  StepGraphs& operator=(const StepGraphs&) = delete;
  ~StepGraphs() { clear(); }

  // As Backend::run_step.
  void run(const StepKey& key, const std::function<void()>& launch);

 private:
  struct Entry {
    cudaGraphExec_t graph = nullptr;  // null: has run once
    int64_t generation = 0;           // of the scratch that it uses
  };

  // Owned by the caller.
  cudaGraph_t record(const std::function<void()>& launch);
  cudaGraphExec_t make_executable(cudaGraph_t graph);
  void clear();

  CudaContext& context_;
  std::map<StepKey, Entry> entries_;
  int64_t num_kernels_ = 0;  // of all graphs
};

}  // namespace deltaserve
