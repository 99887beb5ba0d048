// The read kernel of the ceilings; see ceilings.h.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/read_kernel.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kUnroll = 8;
constexpr int kBlocksPerSm = 4;

// Reads all and writes nothing: the comparison keeps the loads alive.
__global__ void __launch_bounds__(kThreads) read_all(const uint4* from, size_t n, int32_t* sink) {
  uint32_t bits = 0;
  const size_t step = static_cast<size_t>(gridDim.x) * kThreads * kUnroll;
  for (size_t first = static_cast<size_t>(blockIdx.x) * kThreads * kUnroll + threadIdx.x;
       first + (kUnroll - 1) * kThreads < n; first += step) {
    uint4 values[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      values[i] = __ldcs(from + first + i * kThreads);
    }
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      bits |= values[i].x | values[i].y | values[i].z | values[i].w;
    }
  }
  if (bits == 1) {  // the memory is zero
    *sink = 1;
  }
}

}  // namespace
}  // namespace cuda

void launch_read_all(CudaContext& context, const void* from, size_t bytes) {
  const dim3 grid(static_cast<unsigned>(context.device.num_sms * cuda::kBlocksPerSm));
  cuda::launch(context, cuda::read_all, {.grid = grid, .block = dim3(cuda::kThreads)},
               static_cast<const uint4*>(from), bytes / sizeof(uint4), context.zeros(1));
}

}  // namespace deltaserve
