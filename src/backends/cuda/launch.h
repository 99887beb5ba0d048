// Launching of kernels: every launch is checked, and a kernel is chosen by the compute dtype in one
// place. For .cu files.
//
// A kernel launched by `launch_early` may start while the one before it on the stream still runs
// (programmatic dependent launch), in a recorded step too. It calls wait_for_previous() before it
// touches anything that a kernel of the step writes or reads, and let_next_start() once the next
// kernel may come to the multiprocessors.
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

// How much shared memory a multiprocessor should have while it runs the kernel, in percent of the
// most that it can have or cudaSharedmemCarveoutMaxShared; what is left is first-level cache. A
// hint, rounded up to a size that the device has. Kernels with other wishes do not run beside it.
template <typename Kernel>
void prefer_shared(Kernel* kernel, int percent) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
}

template <typename... Params, typename... Args>
void launch(const CudaContext& context, void (*kernel)(Params...), const LaunchShape& shape,
            Args&&... args) {
  kernel<<<shape.grid, shape.block, shape.shared_bytes, context.stream>>>(
      static_cast<Params>(std::forward<Args>(args))...);
  check_cuda(cudaGetLastError());
}

inline constexpr int32_t kEarlyLaunchArch = 90;  // devices that can
inline constexpr int32_t kStreamedArch = 90;     // the one that has streamed_product.cu

// As `launch`, but the kernel may start early: it must be written for that.
template <typename... Params, typename... Args>
void launch_early(const CudaContext& context, void (*kernel)(Params...), const LaunchShape& shape,
                  Args&&... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = context.stream;
  config.attrs = &attribute;
  config.numAttrs = context.device.arch >= kEarlyLaunchArch ? 1 : 0;
  check_cuda(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(std::forward<Args>(args))...));
}

#ifdef __CUDACC__
// Waits until all kernels before this one have ended and what they wrote can be read. Weights, and
// what was written before the step, may be read without.
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The same behind loads that are to be under way meanwhile: ptxas (CUDA 13.0) moves a bare wait
// before loads in the same run of instructions, but not across a branch. `never` is false always,
// in a way that the compiler cannot know: a size below zero.
__device__ __forceinline__ void wait_for_previous_behind_loads(bool never) {
  if (never) {
    __trap();
  }
  wait_for_previous();
}

// The next kernel may start once every block has called this or ended. A small kernel before a
// product of few rows calls it first of all; decode attention does not, since a product's block
// beside it would take the shared memory that its cache is made of.
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

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
