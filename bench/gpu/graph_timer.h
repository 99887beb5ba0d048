// Times work on a stream as the replay of a CUDA graph: no launch from the host is in the figure.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cuda/cuda_context.h"

namespace deltaserve::bench {

// Median microseconds of `replays` replays of what `work` launches on the context's stream. `work`
// must have run before, so that nothing is allocated while it is captured.
template <typename Work>
double graph_microseconds(const CudaContext& context, Work&& work, int replays = 31) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check_cuda(cudaStreamSynchronize(context.stream));
  check_cuda(cudaStreamBeginCapture(context.stream, cudaStreamCaptureModeThreadLocal));
  work();
  check_cuda(cudaStreamEndCapture(context.stream, &graph));
  check_cuda(cudaGraphInstantiate(&executable, graph, 0));
  check_cuda(cudaEventCreate(&begin));
  check_cuda(cudaEventCreate(&end));
  constexpr int kWarmUp = 3;
  std::vector<double> times;
  for (int i = 0; i < kWarmUp + replays; ++i) {
    check_cuda(cudaEventRecord(begin, context.stream));
    check_cuda(cudaGraphLaunch(executable, context.stream));
    check_cuda(cudaEventRecord(end, context.stream));
    check_cuda(cudaEventSynchronize(end));
    float milliseconds = 0.0F;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin, end));
    if (i >= kWarmUp) {
      times.push_back(1e3 * static_cast<double>(milliseconds));
    }
  }
  check_cuda(cudaEventDestroy(begin));
  check_cuda(cudaEventDestroy(end));
  check_cuda(cudaGraphExecDestroy(executable));
  check_cuda(cudaGraphDestroy(graph));
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace deltaserve::bench
