#include "backends/cuda/side_stream.h"

#include "backends/cuda/cuda_context.h"

namespace deltaserve {
namespace {

cudaStream_t create_stream(bool first) {
  int least = 0;
  int greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  check_cuda(
      cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, first ? greatest : least));
  return stream;
}

cudaEvent_t create_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

}  // namespace

SideStream::SideStream()
    : stream_(create_stream(false)), forked_(create_event()), joined_(create_event()) {}

SideStream::~SideStream() {
  cudaEventDestroy(forked_);
  cudaEventDestroy(joined_);
  cudaStreamDestroy(stream_);
}

void SideStream::fork(cudaStream_t main) {
  check_cuda(cudaEventRecord(forked_, main));
  check_cuda(cudaStreamWaitEvent(stream_, forked_, 0));
}

void SideStream::join(cudaStream_t main) {
  check_cuda(cudaEventRecord(joined_, stream_));
  check_cuda(cudaStreamWaitEvent(main, joined_, 0));
}

cudaStream_t create_main_stream() {
  return create_stream(true);
}

}  // namespace deltaserve
