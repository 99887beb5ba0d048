// Products of many rows: gate_up_silu of the own kernel against float64 and beside the form that
// goes through slices, and the times of all products of a layer of the 27B model, in TFLOP/s.
#include <cmath>
#include <cstdio>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/lt_matmul.h"
#include "backends/cuda/wide_product.h"
#include "graph_timer.h"
#include "kernel_case.h"

namespace deltaserve::bench {
namespace {

constexpr DType kX = DType::kBF16;

CudaGateUp make_gate_up(const Pattern& pattern, int64_t I, int64_t K) {
  CudaGateUp weight;
  weight.I = I;
  weight.K = K;
  weight.values = pattern.make(2 * I * K);
  return weight;
}

// What was not written.
void add_missing(const std::vector<float>& actual, Error& error) {
  for (const float value : actual) {
    if (std::isnan(value)) {
      error.add(static_cast<double>(value), 0.0, 0);
    }
  }
}

MatmulArgs linear_args(int64_t M, int64_t N, int64_t K, const CudaMemory& x,
                       const CudaMemory& weight, const CudaMemory& out, bool out_float) {
  return {.M = M,
          .N = N,
          .K = K,
          .x = x.data(),
          .x_stride = K,
          .weight = weight.data(),
          .out = out.data(),
          .out_stride = N,
          .out_float = out_float};
}

void check_wide(CudaContext& context, int64_t M, int64_t I, int64_t K) {
  const Pattern pattern(kX, 21, 0.05F);
  const Pattern x_pattern(kX, 22, 1.0F);
  const CudaGateUp weight = make_gate_up(pattern, I, K);
  const CudaMemory x = x_pattern.make(M * K);
  const auto count = static_cast<size_t>(M * I);
  const CudaMemory out = to_device(kX, std::vector<float>(count, NAN));
  launch_wide_gate_up_silu(context, {.M = M,
                                     .x = x.data(),
                                     .x_stride = K,
                                     .weight = &weight,
                                     .out = out.data(),
                                     .out_stride = I});
  check_cuda(cudaStreamSynchronize(context.stream));
  const std::vector<float> actual = to_host(kX, out.data(), count);
  const auto dot = [&](int64_t m, int64_t row) {
    double sum = 0.0;
    for (int64_t k = 0; k < K; ++k) {
      sum += static_cast<double>(pattern[row * K + k]) * static_cast<double>(x_pattern[m * K + k]);
    }
    return sum;
  };
  Error error;
  for (int64_t i = 0; i < 20011; ++i) {  // a prime: every row and column comes up
    const int64_t m = i * 7919 % M;
    const int64_t column = i * 104729 % I;
    const int64_t row = column / kGateUpGroup * 2 * kGateUpGroup + column % kGateUpGroup;
    const double gate = dot(m, row);
    error.add(actual[static_cast<size_t>(m * I + column)],
              gate / (1.0 + std::exp(-gate)) * dot(m, row + kGateUpGroup), m * I + column);
  }
  add_missing(actual, error);
  error.report("wide gate_up_silu " + std::to_string(M) + " x 2 x " + std::to_string(I) + " x " +
                   std::to_string(K),
               3e-3);
}

void check_wide_linear(CudaContext& context, int64_t M, int64_t N, int64_t K, bool out_float) {
  const Pattern pattern(kX, 27, 0.05F);
  const Pattern x_pattern(kX, 28, 1.0F);
  const CudaMemory weight = pattern.make(N * K);
  const CudaMemory x = x_pattern.make(M * K);
  const auto count = static_cast<size_t>(M * N);
  const DType out_dtype = out_float ? DType::kF32 : kX;
  const CudaMemory out = to_device(out_dtype, std::vector<float>(count, NAN));
  launch_wide_product(context, linear_args(M, N, K, x, weight, out, out_float));
  check_cuda(cudaStreamSynchronize(context.stream));
  const std::vector<float> actual = to_host(out_dtype, out.data(), count);
  Error error;
  for (int64_t i = 0; i < 20011; ++i) {
    const int64_t m = i * 7919 % M;
    const int64_t n = i * 104729 % N;
    double sum = 0.0;
    for (int64_t k = 0; k < K; ++k) {
      sum += static_cast<double>(pattern[n * K + k]) * static_cast<double>(x_pattern[m * K + k]);
    }
    error.add(actual[static_cast<size_t>(m * N + n)], sum, m * N + n);
  }
  add_missing(actual, error);
  error.report("wide linear " + std::to_string(M) + " x " + std::to_string(N) + " x " +
                   std::to_string(K) + (out_float ? " float" : ""),
               out_float ? 1e-6 : 3e-3);
}

void print_rate(const std::string& what, double microseconds, double flops) {
  std::printf("%-58s %9.1f us, %6.1f TFLOP/s\n", what.c_str(), microseconds,
              flops / microseconds * 1e-6);
  std::fflush(stdout);
}

void time_gate_up(CudaContext& context, int64_t M, int64_t I, int64_t K) {
  const Pattern pattern(kX, 23, 0.05F);
  const CudaGateUp weight = make_gate_up(pattern, I, K);
  const CudaMemory x = Pattern(kX, 24, 1.0F).make(M * K);
  const CudaMemory out(static_cast<size_t>(M * I) * 2);
  const GateUpSiluArgs args = {
      .M = M, .x = x.data(), .x_stride = K, .weight = &weight, .out = out.data(), .out_stride = I};
  const std::string shape =
      std::to_string(M) + " x 2 x " + std::to_string(I) + " x " + std::to_string(K);
  const double flops = 4.0 * static_cast<double>(M * I * K);
  launch_wide_gate_up_silu(context, args);
  print_rate("gate_up_silu, own, " + shape,
             graph_microseconds(
                 context, [&] { launch_wide_gate_up_silu(context, args); }, 15),
             flops);
  launch_sliced_gate_up_silu(context, args);
  print_rate("gate_up_silu, in slices, " + shape,
             graph_microseconds(
                 context, [&] { launch_sliced_gate_up_silu(context, args); }, 15),
             flops);
}

void time_linear(CudaContext& context, int64_t M, int64_t N, int64_t K, bool out_float) {
  const CudaMemory weight = Pattern(kX, 25, 0.05F).make(N * K);
  const CudaMemory x = Pattern(kX, 26, 1.0F).make(M * K);
  const CudaMemory out(static_cast<size_t>(M * N) * 4);
  const MatmulArgs args = linear_args(M, N, K, x, weight, out, out_float);
  const auto library = [&] { context.matmul().run(args); };
  const auto own = [&] { launch_wide_product(context, args); };
  const std::string shape = std::to_string(M) + " x " + std::to_string(N) + " x " +
                            std::to_string(K) + (out_float ? " float" : "");
  const double flops = 2.0 * static_cast<double>(M * N * K);
  own();
  print_rate("linear, own, " + shape, graph_microseconds(context, own, 15), flops);
  library();
  print_rate("linear, cuBLASLt, " + shape, graph_microseconds(context, library, 15), flops);
}

}  // namespace

void check_many_rows(CudaContext& context) {
  check_wide(context, 1024, 256, 64);
  check_wide(context, 1333, 136, 192);
  check_wide(context, 2500, 1024, 5120);
  check_wide_linear(context, 1024, 264, 64, false);
  check_wide_linear(context, 1333, 1000, 512, true);
  check_wide_linear(context, 2500, 5120, 6144, false);
}

void time_many_rows(CudaContext& context) {
  for (const int64_t M : {1024, 2048, 4096, 8192}) {
    time_gate_up(context, M, 17408, 5120);
    time_linear(context, M, 5120, 17408, true);
    time_linear(context, M, 16480, 5120, false);
    time_linear(context, M, 14336, 5120, false);
    time_linear(context, M, 5120, 6144, true);
  }
}

}  // namespace deltaserve::bench
