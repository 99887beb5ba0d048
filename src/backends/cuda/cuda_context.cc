#include "backends/cuda/cuda_context.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/lt_matmul.h"
#include "base/check.h"
#include "ops/device_lost.h"

namespace deltaserve {
namespace {

// Scratch grows in steps of this size, so that ops of similar needs share one allocation.
constexpr size_t kScratchStep = size_t{1} << 20;

// The errors of which CUDA says that the process must be launched anew: the context has faulted.
bool ends_context(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

}  // namespace

void check_cuda(cudaError_t error, std::source_location where) {
  if (error == cudaSuccess) {
    return;
  }
  cudaGetLastError();  // so that the next call does not report it again
  const std::string what = fmt::format("{}:{}: {} ({})", where.file_name(), where.line(),
                                       cudaGetErrorString(error), cudaGetErrorName(error));
  if (ends_context(error)) {
    throw DeviceLost(what);
  }
  throw CudaError(what);
}

CudaDevice describe_cuda_device(int32_t ordinal) {
  check_cuda(cudaSetDevice(ordinal));
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal));
  return {.ordinal = ordinal,
          .name = properties.name,
          .arch = properties.major * 10 + properties.minor,
          .num_sms = properties.multiProcessorCount,
          .shared_bytes = static_cast<int32_t>(properties.sharedMemPerBlockOptin),
          .l2_bytes = properties.l2CacheSize,
          .memory_bytes = static_cast<int64_t>(properties.totalGlobalMem)};
}

CudaMemory::CudaMemory(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) {
    return;
  }
  const cudaError_t error = cudaMalloc(&data_, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw std::bad_alloc();
  }
  check_cuda(error);
}

CudaMemory::CudaMemory(CudaMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

CudaMemory& CudaMemory::operator=(CudaMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

CudaMemory::~CudaMemory() {
  cudaFree(data_);
}

CudaContext::CudaContext(DType dtype, int32_t ordinal, bool invariant, bool fp16_rule)
    : compute_dtype(dtype),
      device(describe_cuda_device(ordinal)),
      batch_invariant(invariant),
      fp16_delta_rule(fp16_rule),
      stream(create_main_stream()),
      matmul_(std::make_unique<LtMatmul>(dtype, stream)) {}

CudaContext::~CudaContext() {
  cudaStreamDestroy(stream);
}

size_t CudaContext::scratch_size(size_t bytes) {
  return (bytes + kScratchStep - 1) / kScratchStep * kScratchStep;
}

void* CudaContext::grow(CudaMemory& memory, size_t bytes, bool zeroed) {
  if (bytes <= memory.bytes()) {
    return memory.data();
  }
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &capture));
  DS_CHECK(capture == cudaStreamCaptureStatusNone, "scratch must not grow while a graph is made");
  DS_CHECK(!scratch_planned_, "an op asks for more scratch than the memory plan has");
  check_cuda(cudaStreamSynchronize(stream));
  ++scratch_generation_;
  memory = CudaMemory();  // first give back what there is
  memory = CudaMemory(scratch_size(bytes));
  if (zeroed) {
    check_cuda(cudaMemsetAsync(memory.data(), 0, memory.bytes(), stream));
  }
  return memory.data();
}

}  // namespace deltaserve
