// Is there a device that this build has kernels for, and if not, what is missing?
#include <fmt/format.h>

#include "backends/cuda/make_backend.h"
#include "backends/cuda/memory_ops.h"

namespace deltaserve {
namespace {

std::unexpected<Error> no_device(cudaError_t error) {
  cudaGetLastError();
  if (error == cudaErrorInsufficientDriver) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("the NVIDIA driver is missing or too old for CUDA {}.{}: install "
                            "driver 580 or later, or use --backend cpu",
                            CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10),
                "backend");
  }
  return fail(ErrorCode::kUnavailable,
              fmt::format("no NVIDIA GPU can be used ({}): look at nvidia-smi and "
                          "CUDA_VISIBLE_DEVICES, or use --backend cpu",
                          cudaGetErrorString(error)),
              "backend");
}

}  // namespace

Result<CudaDevice> find_cuda_device(int32_t ordinal) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    return no_device(error);
  }
  if (ordinal < 0 || ordinal >= count) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("there is no NVIDIA GPU {}: {} can be seen", ordinal, count),
                "backend");
  }
  try {
    const CudaDevice device = describe_cuda_device(ordinal);
    if (!has_kernel_image()) {
      return fail(ErrorCode::kUnavailable,
                  fmt::format("{} is sm_{} and this build has kernels for {}: build the preset "
                              "cuda-all",
                              device.name, device.arch, DELTASERVE_CUDA_ARCHITECTURES),
                  "backend");
    }
    return device;
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::kUnavailable, error.what(), "backend");
  }
}

}  // namespace deltaserve
