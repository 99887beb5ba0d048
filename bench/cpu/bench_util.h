// Shared by the CPU benchmarks: options from the command line, the ceilings of this run, and times.
// Usage of each: bench_<name> [--isa NAME] [--dtype float32|bfloat16] [--threads N] [--bits N]
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/ceilings.h"
#include "backends/cpu/cpu_context.h"
#include "tensor/dtype.h"

namespace deltaserve {

struct Bench {
  CpuOptions options;
  CpuCeilings ceilings;
  int32_t bits = 0;  // of weights; 0: all there are

  CpuContext context() const {
    return {options.compute_dtype, options.isa.value_or(detect_cpu_isa()),
            options.threads > 0 ? options.threads : usable_cpu_count()};
  }
  bool bf16() const { return options.compute_dtype == DType::kBF16; }
  double peak_gflop() const {
    return bf16() ? ceilings.bf16_gflop_per_s : ceilings.fma_gflop_per_s;
  }
};

inline Bench start_bench(int argc, char** argv) {
  Bench bench;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const std::string_view value = argv[i + 1];
    if (option == "--isa") {
      if (const auto isa = parse_cpu_isa(value)) {
        bench.options.isa = *isa;
      }
    } else if (option == "--dtype") {
      bench.options.compute_dtype = value == "float32" ? DType::kF32 : DType::kBF16;
    } else if (option == "--bits") {
      bench.bits = std::atoi(argv[i + 1]);
    } else if (option == "--threads") {
      bench.options.threads = std::atoi(argv[i + 1]);
    }
  }
  bench.options.place_by_node = false;  // kernels by themselves; `deltaserve bench` has --numa
  bench.ceilings = measure_cpu_ceilings(bench.options);
  const CpuIsa isa = bench.options.isa.value_or(detect_cpu_isa());
  std::printf("%s, %s: read %.1f GB/s, FMA %.0f GFLOP/s, bf16 %.0f GFLOP/s\n",
              std::string(cpu_isa_name(isa)).c_str(),
              std::string(dtype_name(bench.options.compute_dtype)).c_str(),
              bench.ceilings.read_gb_per_s, bench.ceilings.fma_gflop_per_s,
              bench.ceilings.bf16_gflop_per_s);
  return bench;
}

// Best seconds of `work` over runs that take about `budget` seconds together, at least three; the
// ceilings are the best of several runs too.
template <typename F>
double best_seconds(F&& work, double budget = 0.3) {
  double best = 0.0;
  double total = 0.0;
  for (int runs = 0; runs < 3 || total < budget; ++runs) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const double time =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = runs == 0 ? time : std::min(best, time);
    total += time;
  }
  return best;
}

}  // namespace deltaserve
