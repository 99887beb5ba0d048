// Copies on the device and the conversion of uploaded weights; see memory_ops.h.
#include "backends/cuda/memory_ops.h"

#include <algorithm>

#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kUnroll = 4;  // 16-byte loads in flight a thread: what the copy's bandwidth needs

__global__ void __launch_bounds__(kThreads) copy_vectors(uint4* to, const uint4* from, size_t n) {
  wait_for_previous();
  const size_t step = static_cast<size_t>(gridDim.x) * kThreads * kUnroll;
  for (size_t first = static_cast<size_t>(blockIdx.x) * kThreads * kUnroll + threadIdx.x; first < n;
       first += step) {
    uint4 values[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * kThreads < n) {
        values[i] = from[first + i * kThreads];
      }
    }
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * kThreads < n) {
        to[first + i * kThreads] = values[i];
      }
    }
  }
}

__global__ void copy_bytes(std::byte* to, const std::byte* from, size_t n) {
  wait_for_previous();
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    to[i] = from[i];
  }
}

template <typename X, typename From>
__global__ void place_rows(X* to, const From* from, int64_t rows, int64_t K,
                           RowPlacement placement) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows * K;
       i += step) {
    int64_t row = placement.first_row + i / K;
    if (placement.grouped) {
      row = (row / kGateUpGroup * 2 + placement.first_group) * kGateUpGroup + row % kGateUpGroup;
    }
    to[row * K + i % K] = from_float<X>(to_float(from[i]));
  }
}

unsigned grid_for(const CudaContext& context, size_t threads) {
  const auto most = static_cast<size_t>(context.device.num_sms) * 4;
  return static_cast<unsigned>(std::min(most, ceil_div(threads, size_t{kThreads})));
}

template <typename From>
void place(const CudaContext& context, void* to, const void* from, int64_t rows, int64_t K,
           const RowPlacement& placement) {
  const dim3 grid(grid_for(context, static_cast<size_t>(rows * K)));
  with_x(context.compute_dtype, [&]<typename X>(X*) {
    launch(context, place_rows<X, From>, {.grid = grid, .block = dim3(kThreads)},
           static_cast<X*>(to), static_cast<const From*>(from), rows, K, placement);
  });
}

}  // namespace
}  // namespace cuda

void launch_copy(const CudaContext& context, void* to, const void* from, size_t bytes) {
  if (bytes == 0) {
    return;
  }
  const auto alignment =
      (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes) % sizeof(uint4);
  const size_t n = alignment == 0 ? bytes / sizeof(uint4) : bytes;
  const cuda::LaunchShape shape = {.grid = dim3(cuda::grid_for(context, n)),
                                   .block = dim3(cuda::kThreads)};
  if (alignment == 0) {
    cuda::launch_early(context, cuda::copy_vectors, shape, static_cast<uint4*>(to),
                       static_cast<const uint4*>(from), n);
  } else {
    cuda::launch_early(context, cuda::copy_bytes, shape, static_cast<std::byte*>(to),
                       static_cast<const std::byte*>(from), n);
  }
}

void launch_place_rows(const CudaContext& context, void* to, const void* from, DType from_dtype,
                       int64_t rows, int64_t K, const RowPlacement& placement) {
  if (rows * K == 0) {
    return;
  }
  if (from_dtype == DType::kF32) {
    cuda::place<float>(context, to, from, rows, K, placement);
  } else if (from_dtype == DType::kBF16) {
    cuda::place<cuda::bf16>(context, to, from, rows, K, placement);
  } else {
    cuda::place<__half>(context, to, from, rows, K, placement);
  }
}

bool has_kernel_image() {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, cuda::copy_vectors);
  cudaGetLastError();
  return error == cudaSuccess;
}

}  // namespace deltaserve
