// moe over T: bytes of the experts hit beside the read ceiling, products beside the peak. 64
// experts of the shape of the 35B model (hidden 2048, width 512), 8 a token: 400 MiB of weights.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "backends/cpu/matrix_ops.h"
#include "bench_util.h"

using namespace deltaserve;

namespace {

constexpr int64_t kExperts = 64;
constexpr int64_t kHidden = 2048;
constexpr int64_t kWidth = 512;
constexpr int32_t kTopK = 8;

std::vector<int32_t> choose_experts(int64_t T) {
  std::mt19937 generator(1);
  std::vector<int32_t> all(kExperts);
  std::iota(all.begin(), all.end(), 0);
  std::vector<int32_t> ids;
  for (int64_t t = 0; t < T; ++t) {
    std::shuffle(all.begin(), all.end(), generator);
    std::vector<int32_t> chosen(all.begin(), all.begin() + kTopK);
    std::sort(chosen.begin(), chosen.end());
    ids.insert(ids.end(), chosen.begin(), chosen.end());
  }
  return ids;
}

void bench_tokens(const Bench& bench, CpuContext& context, const ExpertsWeight& experts,
                  int64_t T) {
  const std::vector<int32_t> ids = choose_experts(T);
  const std::vector<float> weights(ids.size(), 0.125F);
  const std::vector<float> x(static_cast<size_t>(T * kHidden), 0.01F);
  const std::vector<float> gate(static_cast<size_t>(T), 0.0F);
  std::vector<float> out(x.size());
  const double time = best_seconds([&] {
    cpu_moe(context, {.T = T,
                      .K = kTopK,
                      .x = x.data(),
                      .x_stride = kHidden,
                      .experts = &experts,
                      .expert_ids = ids.data(),
                      .weights = weights.data(),
                      .shared = x.data(),
                      .shared_gate = gate.data(),
                      .shared_gate_stride = 1,
                      .out = out.data()});
  });
  const auto hit = static_cast<int64_t>(std::set<int32_t>(ids.begin(), ids.end()).size());
  const double gb = static_cast<double>(hit * experts.bytes_per_expert) / time / 1e9;
  const double gflop = 2.0 * static_cast<double>(T * kTopK * 3 * kHidden * kWidth) / time / 1e9;
  std::printf(
      "T %4ld, %3ld experts hit: %8.3f ms  %5.1f GB/s (%3.0f %%)  %5.0f GFLOP/s (%2.0f %%)\n", T,
      hit, time * 1e3, gb, gb / bench.ceilings.read_gb_per_s * 100, gflop,
      gflop / bench.peak_gflop() * 100);
}

}  // namespace

int main(int argc, char** argv) {
  const Bench bench = start_bench(argc, argv);
  CpuContext context = bench.context();
  const std::vector<uint16_t> source(static_cast<size_t>(kHidden * kWidth), 0x3c12);
  const auto* data = reinterpret_cast<const std::byte*>(source.data());
  const TensorView in{.dtype = DType::kBF16, .shape = {kWidth, kHidden}, .data = data};
  const TensorView down{.dtype = DType::kBF16, .shape = {kHidden, kWidth}, .data = data};
  const std::vector<TensorView> ins(kExperts, in);
  const std::vector<TensorView> downs(kExperts, down);
  const auto experts = make_cpu_experts(context, ins, ins, downs).value();
  for (const int64_t T : {1, 4, 16, 64, 128, 512}) {
    bench_tokens(bench, context, *experts, T);
  }
  return 0;
}
