#include "backends/cuda/step_graphs.h"

namespace deltaserve {
namespace {

// Graphs kept: a graph of a deep model takes a few MB on host and device. Beyond it all are dropped
// and those that are still used are made again.
constexpr size_t kMaxGraphs = 256;

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
      found->second.graph = record(launch);
    } catch (...) {
      clear();  // what runs next runs as it is, with the memory that the graphs took
      throw;
    }
  }
  check_cuda(cudaGraphLaunch(found->second.graph, context_.stream));
}

cudaGraphExec_t StepGraphs::record(const std::function<void()>& launch) {
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
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(made);
  return executable;
}

void StepGraphs::clear() {
  cudaStreamSynchronize(context_.stream);
  for (const auto& [key, entry] : entries_) {
    if (entry.graph != nullptr) cudaGraphExecDestroy(entry.graph);
  }
  entries_.clear();
}

}  // namespace deltaserve
