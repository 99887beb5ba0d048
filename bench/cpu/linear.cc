// linear over M, with weights in bfloat16, 8 and 4 bits: weight bytes a second beside the read
// ceiling, operations beside the bfloat16 peak, and the floor: the longer of reading the weights
// and of the products. Weights rotate over copies of at least 512 MiB together, so that they come
// from memory.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cpu/matrix_ops.h"
#include "bench_util.h"
#include "tensor/quantize.h"

using namespace deltaserve;

namespace {

// Seconds that the machine needs for M rows at least. VPDPBUSD or VPMADDUBSW makes four times the
// products of an FMA at its rate; tiles of bytes with groups of 32 make those of bfloat16. 8-bit
// weights take two byte products each (in groups of 64, so the same on tiles).
double floor_seconds(const Bench& bench, int64_t bytes, double operations, int32_t bits) {
  const CpuCeilings& ceilings = bench.ceilings;
  const bool tiles = bench.options.isa.value_or(detect_cpu_isa()) == CpuIsa::kAmx;
  const double peak = bits == 16 ? bench.peak_gflop()
                      : tiles    ? ceilings.bf16_gflop_per_s
                                 : ceilings.fma_gflop_per_s * 16 / bits;
  return std::max(static_cast<double>(bytes) / ceilings.read_gb_per_s, operations / peak) / 1e9;
}

void bench_shape(const Bench& bench, CpuContext& context, int64_t N, int64_t K, int32_t bits) {
  const std::vector<uint16_t> source(static_cast<size_t>(N * K), 0x3c12);
  TensorView view{.dtype = DType::kBF16,
                  .shape = {N, K},
                  .data = reinterpret_cast<const std::byte*>(source.data())};
  std::optional<QuantizedTensor> quantized;
  if (bits != 16) {
    quantized = QuantizedTensor::make(view, bits, context.threads).value();
    view = quantized->view();
  }
  std::vector<std::unique_ptr<LinearWeight>> weights;
  for (int64_t bytes = 0; bytes < int64_t{512} << 20; bytes += weights.back()->bytes) {
    weights.push_back(make_cpu_linear(context, {&view, 1}).value());
  }
  constexpr int64_t kMaxRows = 2048;
  const std::vector<float> x(static_cast<size_t>(kMaxRows * K), 0.01F);
  std::vector<float> out(static_cast<size_t>(kMaxRows * N));
  size_t turn = 0;
  for (const int64_t M : {1, 2, 4, 8, 16, 64, 512, 2048}) {
    const double time = best_seconds([&] {
      const LinearWeight* weight = weights[turn++ % weights.size()].get();
      cpu_linear(context, {.M = M,
                           .x = x.data(),
                           .x_stride = K,
                           .weight = weight,
                           .out = out.data(),
                           .out_stride = N});
    });
    const double gb = static_cast<double>(weights[0]->bytes) / time / 1e9;
    const double gflop = 2.0 * static_cast<double>(M * N * K) / time / 1e9;
    const double floor = floor_seconds(bench, weights[0]->bytes, gflop * time * 1e9, bits);
    std::printf(
        "%2d bits, N %5ld K %5ld M %4ld: %8.3f ms  %5.1f GB/s (%3.0f %%)  %6.0f GFLOP/s (%3.0f "
        "%%)  floor %8.3f ms (%3.0f %%)\n",
        bits, N, K, M, time * 1e3, gb, gb / bench.ceilings.read_gb_per_s * 100, gflop,
        gflop / bench.peak_gflop() * 100, floor * 1e3, floor / time * 100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Bench bench = start_bench(argc, argv);
  CpuContext context = bench.context();
  for (const int32_t bits : {16, 8, 4}) {
    if (bench.bits != 0 && bench.bits != bits) {
      continue;
    }
    bench_shape(bench, context, 3584, 1024, bits);
    bench_shape(bench, context, 9216, 2560, bits);
  }
  return 0;
}
