#include "backends/cuda/step_graphs.h"

namespace deltaserve {
namespace {

// Graphs kept. Beyond it all are dropped and those that are still used are made again.
constexpr size_t kMaxGraphs = 256;

// Device memory of a recorded kernel: 2.9 to 3.4 KiB where 100 to 1,000 kernels with 512 bytes of
// arguments were recorded 256 times (CUDA 13.0, H200). The driver keeps it for the next graphs.
constexpr int64_t kKernelBytes = 3584;

}  // namespace

void StepGraphs::run(const StepKey& key, const std::function<void()>& launch) {
  auto found = entries_.find(key);
  if (found != entries_.end() && found->second.generation != context_.scratch_generation()) {
    clear();  // the scratch has moved: what was recorded points to the old one
    found = entries_.end();
  }
  if (found == entries_.end()) {
    launch();
    if (entries_.size() >= kMaxGraphs) clear();
    entries_[key] = {.graph = nullptr, .generation = context_.scratch_generation()};
    return;
  }
  if (found->second.graph == nullptr) {
    try {
      const Entry entry{.graph = make_executable(record(launch)),
                        .generation = context_.scratch_generation()};
      found = entries_.insert_or_assign(key, entry).first;
    } catch (...) {
      clear();  // what runs next runs as it is, with the memory that the graphs took
      throw;
    }
  }
  check_cuda(cudaGraphLaunch(found->second.graph, context_.stream));
}

cudaGraph_t StepGraphs::record(const std::function<void()>& launch) {
  check_cuda(cudaStreamBeginCapture(context_.stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    launch();
  } catch (...) {
    cudaStreamEndCapture(context_.stream, &graph);
    cudaGetLastError();  // of a capture that was broken off: the next launch would report it
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  check_cuda(cudaStreamEndCapture(context_.stream, &graph));
  return graph;
}

// Drops all other graphs first if there is no room beside them. Frees `graph`.
cudaGraphExec_t StepGraphs::make_executable(cudaGraph_t graph) {
  size_t num_kernels = 0;
  cudaError_t made = cudaGraphGetNodes(graph, nullptr, &num_kernels);
  const auto count = static_cast<int64_t>(num_kernels);
  if ((num_kernels_ + count) * kKernelBytes > kStepGraphBytes) clear();
  cudaGraphExec_t executable = nullptr;
  if (made == cudaSuccess) made = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(made);
  num_kernels_ += count;
  return executable;
}

void StepGraphs::clear() {
  cudaStreamSynchronize(context_.stream);
  for (const auto& [key, entry] : entries_) {
    if (entry.graph != nullptr) cudaGraphExecDestroy(entry.graph);
  }
  entries_.clear();
  num_kernels_ = 0;
}

}  // namespace deltaserve
