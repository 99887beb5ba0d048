// linear and gate_up_silu of few rows, in all forms: against float64, the promise that a row's bits
// do not depend on how many there are, and times with weights that come from memory.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "few_rows.h"
#include "graph_timer.h"

namespace deltaserve::bench {
namespace {

double dot(const Pattern& weight, int64_t row, const std::vector<float>& x, int64_t m, int64_t K) {
  double sum = 0.0;
  for (int64_t k = 0; k < K; ++k) {
    sum += static_cast<double>(weight[row * K + k]) * x[static_cast<size_t>(m * K + k)];
  }
  return sum;
}

std::vector<float> random_rows(int64_t M, int64_t K) {
  std::vector<float> x = random_values(static_cast<size_t>(M * K), 5, 1.0F);
  std::ranges::transform(x, x.begin(), [](float value) { return rounded(kX, value); });
  return x;
}

// Some rows of W: all of a small one.
std::vector<int64_t> rows_to_check(int64_t N) {
  std::vector<int64_t> rows;
  const int64_t step = std::max<int64_t>(1, N / 37);
  for (int64_t n = 0; n < N; n += step) {
    rows.push_back(n);
  }
  rows.push_back(N - 1);
  return rows;
}

void check_linear(CudaContext& context, const Form& form, int64_t N, int64_t K) {
  const Pattern pattern(kX, 11, 0.05F);
  const CudaLinear weight = make_linear(pattern, N, K);
  std::vector<float> first_row;
  for (const int64_t M : {1, 2, 7, 8, 9, 15, 16, 17, 32}) {
    if (!form.serves(context, M, N, K)) {
      continue;
    }
    const std::vector<float> x = random_rows(M, K);
    const CudaMemory x_memory = to_device(kX, x);
    for (const bool out_float : {true, false}) {
      const DType out_dtype = out_float ? DType::kF32 : kX;
      const auto count = static_cast<size_t>(M * N);
      const CudaMemory out = to_device(out_dtype, std::vector<float>(count, NAN));
      form.linear(context, {.M = M,
                            .x = x_memory.data(),
                            .x_stride = K,
                            .weight = &weight,
                            .out = out.data(),
                            .out_stride = N,
                            .out_float = out_float});
      check_cuda(cudaStreamSynchronize(context.stream));
      const std::vector<float> actual = to_host(out_dtype, out.data(), count);
      Error error;
      for (int64_t m = 0; m < M; ++m) {
        for (const int64_t n : rows_to_check(N)) {
          error.add(actual[static_cast<size_t>(m * N + n)], dot(pattern, n, x, m, K), m * N + n);
        }
      }
      const std::string what = std::string(form.name) + " linear " + std::to_string(N) + " x " +
                               std::to_string(K) + " M " + std::to_string(M) +
                               (out_float ? " float" : "");
      error.report(what, out_float ? form.sum_error : 3e-3);
      if (out_float) {
        const std::vector<float> row(actual.begin(), actual.begin() + static_cast<ptrdiff_t>(N));
        if (!first_row.empty()) {
          report_same_bits(what + ", row 0 as in fewer", row, first_row);
        }
        first_row = row;
      }
    }
  }
}

void check_gate_up(CudaContext& context, const Form& form, int64_t I, int64_t K) {
  const Pattern pattern(kX, 12, 0.05F);
  const CudaGateUp weight = make_gate_up(pattern, I, K);
  for (const int64_t M : {1, 8, 16, 29}) {
    if (!form.serves(context, M, padded_rows(I), K)) {
      continue;
    }
    const std::vector<float> x = random_rows(M, K);
    const CudaMemory x_memory = to_device(kX, x);
    const auto count = static_cast<size_t>(M * I);
    const CudaMemory out = to_device(kX, std::vector<float>(count, NAN));
    form.gate_up(context, {.M = M,
                           .x = x_memory.data(),
                           .x_stride = K,
                           .weight = &weight,
                           .out = out.data(),
                           .out_stride = I});
    check_cuda(cudaStreamSynchronize(context.stream));
    const std::vector<float> actual = to_host(kX, out.data(), count);
    Error error;
    for (int64_t m = 0; m < M; ++m) {
      for (const int64_t i : rows_to_check(I)) {
        const int64_t row = i / kGateUpGroup * 2 * kGateUpGroup + i % kGateUpGroup;
        const double gate = dot(pattern, row, x, m, K);
        const double up = dot(pattern, row + kGateUpGroup, x, m, K);
        error.add(actual[static_cast<size_t>(m * I + i)], gate / (1.0 + std::exp(-gate)) * up,
                  m * I + i);
      }
    }
    error.report(std::string(form.name) + " gate_up_silu 2 x " + std::to_string(I) + " x " +
                     std::to_string(K) + " M " + std::to_string(M),
                 3e-3);
  }
}

// Copies of a weight that together are far larger than the second-level cache.
int64_t copies_of(int64_t bytes) {
  return std::clamp<int64_t>((int64_t{600} << 20) / bytes, 1, 24);
}

void time_linear(CudaContext& context, const char* what, int64_t N, int64_t K, bool gate_up) {
  const Pattern pattern(kX, 13, 0.05F);
  const int64_t bytes = N * K * 2;
  const int64_t copies = copies_of(bytes);
  std::vector<CudaLinear> linears;
  std::vector<CudaGateUp> gate_ups;
  for (int64_t i = 0; i < copies; ++i) {
    if (gate_up) {
      gate_ups.push_back(make_gate_up(pattern, N / 2, K));
    } else {
      linears.push_back(make_linear(pattern, N, K));
    }
  }
  const CudaMemory x = to_device(kX, random_rows(kMostRows, K));
  const CudaMemory out(static_cast<size_t>(kMostRows * N) * sizeof(float));
  const auto run = [&](const Form& form, int64_t M) {
    for (const CudaLinear& weight : linears) {
      form.linear(context, {.M = M,
                            .x = x.data(),
                            .x_stride = K,
                            .weight = &weight,
                            .out = out.data(),
                            .out_stride = N});
    }
    for (const CudaGateUp& weight : gate_ups) {
      form.gate_up(context, {.M = M,
                             .x = x.data(),
                             .x_stride = K,
                             .weight = &weight,
                             .out = out.data(),
                             .out_stride = N / 2});
    }
  };
  for (const Form& form : kForms) {
    for (const int64_t M : {1, 4, 8, 16, 32}) {
      if (!form.serves(context, M, N, K)) {
        continue;
      }
      run(form, M);
      print_time(std::string(form.name) + " " + what + " " + std::to_string(N) + " x " +
                     std::to_string(K) + " M " + std::to_string(M),
                 graph_microseconds(
                     context, [&] { run(form, M); }, 11) /
                     static_cast<double>(copies),
                 static_cast<double>(bytes) / kCopyBytes * 1e6);
    }
  }
}

}  // namespace

void check_skinny(CudaContext& context) {
  for (const Form& form : kForms) {
    check_linear(context, form, 96, 64);
    check_linear(context, form, 257, 576);
    check_linear(context, form, 5, 5120);
    check_linear(context, form, 8192 + 40, 1024);
    check_linear(context, form, 5120, 6144);
    check_linear(context, form, 16480, 5120);
    check_gate_up(context, form, 96, 64);
    check_gate_up(context, form, 4608, 1088);
    check_gate_up(context, form, 12, 2048);
  }
}

void time_skinny(CudaContext& context) {
  time_linear(context, "27B gate_up", 34816, 5120, true);
  time_linear(context, "27B down", 5120, 17408, false);
  time_linear(context, "27B delta in", 16480, 5120, false);
  time_linear(context, "27B attention in", 14336, 5120, false);
  time_linear(context, "27B out", 5120, 6144, false);
  time_linear(context, "27B head", 248320, 5120, false);
  time_linear(context, "35B delta in", 12352, 2048, false);
  time_linear(context, "35B attention in", 9216, 2048, false);
  time_linear(context, "35B out", 2048, 4096, false);
  time_linear(context, "35B router", 257, 2048, false);
  time_linear(context, "35B shared gate_up", 1024, 2048, true);
  time_linear(context, "35B shared down", 2048, 512, false);
  time_linear(context, "35B head", 248320, 2048, false);
}

}  // namespace deltaserve::bench
