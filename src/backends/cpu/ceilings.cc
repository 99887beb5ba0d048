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
#include "backends/cpu/numa_memory.h"
#include "backends/cpu/thread_binding.h"
#include "backends/cpu/thread_placement.h"
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

// Slices of memory, which all threads read together; a node's threads always read its own part.
double measure_read(const CpuKernels& kernels, const ThreadPlacement& placement) {
  constexpr int64_t kSlicePages = kReadSlice / kPage;
  const auto slices = static_cast<int64_t>(std::min(kReadBytes, available_memory() / 4)) /
                      static_cast<int64_t>(kReadSlice);
  const size_t bytes = static_cast<size_t>(slices) * kReadSlice;
  const Result<HugeBuffer> buffer = HugeBuffer::allocate(bytes);
  if (!buffer || bytes == 0) {
    return 0.0;
  }
  const auto page = [&](int64_t index) {
    return buffer->data() + index * static_cast<int64_t>(kPage);
  };
  for (int32_t part = 0; placement.active() && part < placement.num_parts(); ++part) {
    const IndexRange own = placement.share(kSlicePages, part);
    prefer_node(page(own.begin * slices),
                static_cast<size_t>((own.end - own.begin) * slices) * kPage,
                placement.nodes[static_cast<size_t>(part)].node);
  }
  const auto each_share = [&](int64_t slice, FunctionRef<void(std::byte*, int64_t)> visit) {
    parallel_region(placement.threads, [&](const Team& team) {
      const IndexRange node = placement.share(kSlicePages, placement.part_of(team.thread));
      const IndexRange own = placement.thread_share(node, team.thread);
      visit(page(node.begin * slices + slice * (node.end - node.begin) + own.begin - node.begin),
            (own.end - own.begin) * static_cast<int64_t>(kPage));
    });
  };
  // Pages that were never written are all the same zero page.
  for (int64_t slice = 0; slice < slices; ++slice) {
    each_share(slice, [](std::byte* from, int64_t count) {
      std::memset(from, 1, static_cast<size_t>(count));
    });
  }
  std::atomic<float> sink = 0.0F;
  double best = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < kReadPasses; ++pass) {
    for (int64_t slice = 0; slice < slices; ++slice) {
      best = std::min(best, seconds([&] {
                        each_share(slice, [&](std::byte* from, int64_t count) {
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
  const Result<ThreadPlacement> placement = cpu_placement(options);
  if (!placement) {
    return {};
  }
  ThreadBinding binding(*placement);
  binding.bind_callers();
  const int32_t threads = placement->threads;
  return {.read_gb_per_s = measure_read(kernels, *placement),
          .fma_gflop_per_s = measure_flops(kernels.run_fma, kernels.fma_flop, threads),
          .bf16_gflop_per_s = measure_flops(kernels.run_bf16, kernels.bf16_flop, threads)};
}

}  // namespace deltaserve
