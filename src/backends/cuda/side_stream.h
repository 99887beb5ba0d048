// A second stream of lower priority for work that may run beside the main one: what it gets starts
// after a fork, and the main stream waits for it at a join. Both can be captured into a graph.
#pragma once

#include <cuda_runtime_api.h>

namespace deltaserve {

class SideStream {
 public:
  SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  ~SideStream();

  cudaStream_t stream() const { return stream_; }
  void fork(cudaStream_t main);  // the side stream waits for what `main` has by now
  void join(cudaStream_t main);  // `main` waits for what the side stream has by now

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t forked_ = nullptr;
  cudaEvent_t joined_ = nullptr;
};

// A stream that goes before side streams and does not wait for the default one.
cudaStream_t create_main_stream();

}  // namespace deltaserve
