// Launching of kernels: every launch is checked, and a kernel is chosen by the compute dtype in one
// place. For .cu files.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "backends/cuda/cuda_context.h"

namespace deltaserve::cuda {

template <typename T>
constexpr T ceil_div(T value, T divisor) {
  return (value + divisor - 1) / divisor;
}

struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
};

// Kernels that take more than 48 KiB of shared memory must be allowed to, once, with
// cudaFuncSetAttribute; `allow_shared` does that.
template <typename Kernel>
void allow_shared(Kernel* kernel, size_t bytes) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)));
}

template <typename... Params, typename... Args>
void launch(const CudaContext& context, void (*kernel)(Params...), const LaunchShape& shape,
            Args&&... args) {
  kernel<<<shape.grid, shape.block, shape.shared_bytes, context.stream>>>(
      static_cast<Params>(std::forward<Args>(args))...);
  check_cuda(cudaGetLastError());
}

// Calls f with a null pointer of the compute dtype: float* or __nv_bfloat16*.
template <typename F>
void with_x(DType x, F&& f) {
  if (x == DType::kBF16) {
    f(static_cast<__nv_bfloat16*>(nullptr));
  } else {
    f(static_cast<float*>(nullptr));
  }
}

}  // namespace deltaserve::cuda
