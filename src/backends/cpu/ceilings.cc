#include "backends/cpu/ceilings.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>

#include "backends/cpu/cpu_info.h"
#include "backends/cpu/function_ref.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/threads.h"

namespace deltaserve {
namespace {

// Far beyond any cache, so that what is measured is memory.
constexpr size_t kReadBytes = size_t{1} << 30;
constexpr size_t kPage = 4096;

// Machines are shared: the best of many short runs (1 to 3 ms) counts, long ones would always meet
// somebody else's time slice.
constexpr size_t kReadSlice = size_t{32} << 20;
constexpr int kReadPasses = 3;
constexpr int kFlopRuns = 100;
constexpr int64_t kFlopIterations = 200'000;

double seconds(FunctionRef<void()> work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double measure_read(const CpuKernels& kernels, int32_t threads) {
  const size_t bytes = std::min(kReadBytes, available_memory() / 4) / kReadSlice * kReadSlice;
  const Result<HugeBuffer> buffer = HugeBuffer::allocate(bytes);
  if (!buffer || bytes == 0) {
    return 0.0;
  }
  const auto each_share = [&](size_t offset, FunctionRef<void(std::byte*, int64_t)> visit) {
    parallel_for(threads, kReadSlice / kPage, 1, [&](int64_t begin, int64_t end, int32_t) {
      visit(buffer->data() + offset + static_cast<size_t>(begin) * kPage,
            (end - begin) * static_cast<int64_t>(kPage));
    });
  };
  // Pages that were never written are all the same zero page.
  for (size_t offset = 0; offset < bytes; offset += kReadSlice) {
    each_share(offset, [](std::byte* from, int64_t count) {
      std::memset(from, 1, static_cast<size_t>(count));
    });
  }
  std::atomic<float> sink = 0.0F;
  double best = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < kReadPasses; ++pass) {
    for (size_t offset = 0; offset < bytes; offset += kReadSlice) {
      best = std::min(best, seconds([&] {
                        each_share(offset, [&](std::byte* from, int64_t count) {
                          sink = kernels.read_memory(from, count);
                        });
                      }));
    }
  }
  return static_cast<double>(kReadSlice) / best / 1e9;
}

double measure_flops(float (*run)(int64_t), int64_t flop, int32_t threads) {
  std::atomic<float> sink = 0.0F;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kFlopRuns; ++i) {
    best = std::min(best, seconds([&] {
                      parallel_region(threads, [&](const Team&) { sink = run(kFlopIterations); });
                    }));
  }
  return static_cast<double>(flop) * kFlopIterations * threads / best / 1e9;
}

}  // namespace

CpuCeilings measure_cpu_ceilings(const CpuOptions& options) {
  const CpuIsa isa = options.isa.value_or(detect_cpu_isa());
  if (!cpu_supports(isa)) {
    return {};
  }
  const CpuKernels& kernels = cpu_kernels(isa);
  const int32_t threads = options.threads > 0 ? options.threads : usable_cpu_count();
  return {.read_gb_per_s = measure_read(kernels, threads),
          .fma_gflop_per_s = measure_flops(kernels.run_fma, kernels.fma_flop, threads),
          .bf16_gflop_per_s = measure_flops(kernels.run_bf16, kernels.bf16_flop, threads)};
}

}  // namespace deltaserve
