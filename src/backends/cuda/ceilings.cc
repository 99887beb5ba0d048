#include "backends/cuda/ceilings.h"

#include <algorithm>
#include <functional>
#include <new>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/lt_matmul.h"
#include "backends/cuda/make_backend.h"
#include "backends/cuda/read_kernel.h"

namespace deltaserve {
namespace {

constexpr size_t kReadBytes = size_t{4} << 30;  // many times the second level cache
constexpr int64_t kWidth = 8192;
constexpr int kRepetitions = 5;

// Seconds of the fastest run.
double fastest(const CudaContext& context, const std::function<void()>& run) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check_cuda(cudaEventCreate(&begin));
  check_cuda(cudaEventCreate(&end));
  float best = 0.0F;
  for (int i = 0; i <= kRepetitions; ++i) {
    check_cuda(cudaEventRecord(begin, context.stream));
    run();
    check_cuda(cudaEventRecord(end, context.stream));
    check_cuda(cudaEventSynchronize(end));
    float milliseconds = 0.0F;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin, end));
    if (i > 0) best = i == 1 ? milliseconds : std::min(best, milliseconds);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return static_cast<double>(best) * 1e-3;
}

CudaCeilings measure(const CudaOptions& options) {
  CudaContext context(options.compute_dtype, options.device);
  CudaMemory memory(kReadBytes);
  launch_fill_random(context, memory.data(), kReadBytes);
  const double read =
      fastest(context, [&] { launch_read_all(context, memory.data(), kReadBytes); });
  auto* bytes = static_cast<std::byte*>(memory.data());
  const int64_t matrix_bytes = kWidth * kWidth * dtype_size(options.compute_dtype);
  const double product = fastest(context, [&] {
    context.matmul().run({.M = kWidth,
                          .N = kWidth,
                          .K = kWidth,
                          .x = bytes,
                          .x_stride = kWidth,
                          .weight = bytes + matrix_bytes,
                          .out = bytes + 2 * matrix_bytes,
                          .out_stride = kWidth});
  });
  const auto width = static_cast<double>(kWidth);
  return {.read_gb_per_s = static_cast<double>(kReadBytes) / read * 1e-9,
          .matrix_gflop_per_s = 2.0 * width * width * width / product * 1e-9};
}

}  // namespace

Result<CudaCeilings> measure_cuda_ceilings(const CudaOptions& options) {
  if (const Result<CudaDevice> device = find_cuda_device(options.device); !device) {
    return std::unexpected(device.error());
  }
  try {
    return measure(options);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kUnavailable, "no device memory is left to measure the ceilings with");
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::kUnavailable, error.what());
  }
}

}  // namespace deltaserve
