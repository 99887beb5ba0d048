// What the products of a prompt reach when they run on end, so long that the card's power limit has
// set the clock: the 27B's five products of 8,192 rows, of normally distributed values, since power
// depends on them. A short run of the same product reaches up to 15 % more.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numbers>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/lt_matmul.h"
#include "backends/cuda/wide_product.h"
#include "kernel_case.h"

namespace deltaserve::bench {
namespace {

constexpr DType kX = DType::kBF16;
constexpr int64_t kRows = 8192;
constexpr double kSettleSeconds = 0.2;
constexpr double kMeasuredSeconds = 0.4;

// `count` values of deviation `scale`, which repeat after a prime number of elements.
CudaMemory make_normal(int64_t count, uint64_t seed, float scale) {
  constexpr int64_t kPeriod = 1048573;
  std::vector<float> values(static_cast<size_t>(std::min(count, kPeriod)));
  for (size_t i = 0; i < values.size(); ++i) {
    const float length = 0.5F + random_value(seed, 2 * i, 0.499999F);  // above 0
    const float angle = random_value(seed, 2 * i + 1, std::numbers::pi_v<float>);
    values[i] = std::sqrt(-2.0F * std::log(length)) * std::cos(angle) * scale;
  }
  const CudaMemory period = to_device(kX, values);
  CudaMemory all(static_cast<size_t>(count) * sizeof(BFloat16));
  for (int64_t at = 0; at < count; at += kPeriod) {
    check_cuda(cudaMemcpy(static_cast<BFloat16*>(all.data()) + at, period.data(),
                          static_cast<size_t>(std::min(kPeriod, count - at)) * sizeof(BFloat16),
                          cudaMemcpyDeviceToDevice));
  }
  check_cuda(cudaDeviceSynchronize());
  return all;
}

// Launches `work` for about `seconds`, `estimate` each, and returns the time of one.
double seconds_each(const CudaContext& context, const std::function<void()>& work, double estimate,
                    double seconds) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check_cuda(cudaEventCreate(&begin));
  check_cuda(cudaEventCreate(&end));
  const int count = std::max(1, static_cast<int>(seconds / estimate));
  check_cuda(cudaEventRecord(begin, context.stream));
  for (int i = 0; i < count; ++i) {
    work();
  }
  check_cuda(cudaEventRecord(end, context.stream));
  check_cuda(cudaEventSynchronize(end));
  float milliseconds = 0.0F;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin, end));
  check_cuda(cudaEventDestroy(begin));
  check_cuda(cudaEventDestroy(end));
  return 1e-3 * static_cast<double>(milliseconds) / count;
}

void print_sustained(const CudaContext& context, const std::string& what, double flops,
                     const std::function<void()>& work) {
  const double floor = flops / kTensorFlops;
  work();
  seconds_each(context, work, floor, kSettleSeconds);
  const double seconds = seconds_each(context, work, floor, kMeasuredSeconds);
  std::printf("%-50s %9.1f us, %6.1f TFLOP/s\n", what.c_str(), 1e6 * seconds,
              1e-12 * flops / seconds);
  std::fflush(stdout);
}

void sustain_linear(CudaContext& context, int64_t N, int64_t K, bool add) {
  const CudaMemory weight = make_normal(N * K, 61, 1.0F / std::sqrt(static_cast<float>(K)));
  const CudaMemory x = make_normal(kRows * K, 62, 1.0F);
  const CudaMemory out(static_cast<size_t>(kRows * N) * sizeof(float));
  check_cuda(cudaMemset(out.data(), 0, out.bytes()));
  check_cuda(cudaDeviceSynchronize());
  const MatmulArgs args = {.M = kRows,
                           .N = N,
                           .K = K,
                           .x = x.data(),
                           .x_stride = K,
                           .weight = weight.data(),
                           .out = out.data(),
                           .out_stride = N,
                           .out_float = add,
                           .add = add};
  const std::string shape = std::to_string(N) + " x " + std::to_string(K) + (add ? ", added" : "");
  const double flops = 2.0 * static_cast<double>(kRows * N * K);
  print_sustained(context, "linear, cuBLASLt, " + shape, flops,
                  [&] { context.matmul().run(args); });
  if (!add) {
    print_sustained(context, "linear, own, " + shape, flops,
                    [&] { launch_wide_product(context, args); });
  }
}

void sustain_gate_up(CudaContext& context, int64_t I, int64_t K) {
  CudaGateUp weight;
  weight.I = I;
  weight.K = K;
  weight.values = make_normal(2 * I * K, 63, 1.0F / std::sqrt(static_cast<float>(K)));
  const CudaMemory x = make_normal(kRows * K, 64, 1.0F);
  const CudaMemory out(static_cast<size_t>(kRows * I) * sizeof(BFloat16));
  const GateUpSiluArgs args = {.M = kRows,
                               .x = x.data(),
                               .x_stride = K,
                               .weight = &weight,
                               .out = out.data(),
                               .out_stride = I};
  print_sustained(
      context, "gate_up_silu, own, 2 x " + std::to_string(I) + " x " + std::to_string(K),
      4.0 * static_cast<double>(kRows * I * K), [&] { launch_wide_gate_up_silu(context, args); });
}

}  // namespace

void time_sustained(CudaContext& context) {
  sustain_linear(context, 16480, 5120, false);
  sustain_linear(context, 14336, 5120, false);
  sustain_linear(context, 5120, 6144, true);
  sustain_gate_up(context, 17408, 5120);
  sustain_linear(context, 5120, 17408, true);
}

}  // namespace deltaserve::bench
