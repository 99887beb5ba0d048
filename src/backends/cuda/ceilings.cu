// The kernels of the ceilings; see read_kernel.h.
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
  if (bits == 1) {  // which random numbers do not give
    *sink = 1;
  }
}

// Words of random sign and mantissa and of magnitude 0.5 to 1, one float32 or two bfloat16 each.
__global__ void __launch_bounds__(kThreads) fill(uint32_t* to, size_t n, bool pairs) {
  const size_t step = static_cast<size_t>(gridDim.x) * kThreads;
  for (size_t i = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) {
    auto bits = static_cast<uint32_t>(i) * 0x9E3779B9U;  // golden ratio, then a mixing of the bits
    bits = (bits ^ bits >> 16) * 0x85EBCA6BU;
    bits = (bits ^ bits >> 13) * 0xC2B2AE35U;
    to[i] = pairs ? (bits & 0x807f807fU) | 0x3f003f00U : (bits & 0x807fffffU) | 0x3f000000U;
  }
}

}  // namespace
}  // namespace cuda

void launch_read_all(CudaContext& context, const void* from, size_t bytes) {
  const dim3 grid(static_cast<unsigned>(context.device.num_sms * cuda::kBlocksPerSm));
  cuda::launch(context, cuda::read_all, {.grid = grid, .block = dim3(cuda::kThreads)},
               static_cast<const uint4*>(from), bytes / sizeof(uint4), context.zeros(1));
}

void launch_fill_random(const CudaContext& context, void* to, size_t bytes) {
  const dim3 grid(static_cast<unsigned>(context.device.num_sms * cuda::kBlocksPerSm));
  cuda::launch(context, cuda::fill, {.grid = grid, .block = dim3(cuda::kThreads)},
               static_cast<uint32_t*>(to), bytes / sizeof(uint32_t),
               context.compute_dtype == DType::kBF16);
}

}  // namespace deltaserve
