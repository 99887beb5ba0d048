// linear and gate_up_silu of few rows, in all forms: against float64, the promise that a row's bits
// do not depend on how many there are, and times with weights that come from memory.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/row_product.h"
#include "graph_timer.h"
#include "kernel_case.h"

namespace deltaserve::bench {
namespace {

constexpr DType kX = DType::kBF16;
constexpr int64_t kMostRows = 2 * kMaxSkinnyRows;
static_assert(kMostRows >= kMaxStreamedRows);

// A set of kernels.
struct Form {
  const char* name;
  bool (*serves)(const CudaContext& context, int64_t M, int64_t N, int64_t K);
  void (*linear)(CudaContext& context, const LinearArgs& args);
  void (*gate_up)(CudaContext& context, const GateUpSiluArgs& args);
};

const Form kForms[] = {
    {"row",
     [](const CudaContext& context, int64_t M, int64_t, int64_t K) {
       return serves_row(context, M, K);
     },
     launch_row_linear, launch_row_gate_up_silu},
    {"skinny",
     [](const CudaContext&, int64_t M, int64_t N, int64_t K) { return serves_skinny(M, N, K); },
     launch_skinny_linear, launch_skinny_gate_up_silu},
    {"streamed",
     [](const CudaContext& context, int64_t M, int64_t N, int64_t K) {
       return serves_streamed(context, M, N, K, nullptr, K);
     },
     launch_streamed_linear, launch_streamed_gate_up_silu}};

CudaLinear make_linear(const Pattern& pattern, int64_t N, int64_t K) {
  CudaLinear weight;
  weight.N = N;
  weight.K = K;
  weight.values = pattern.make(N * K);
  return weight;
}

int64_t padded_rows(int64_t I) {
  return (I + kGateUpGroup - 1) / kGateUpGroup * 2 * kGateUpGroup;
}

CudaGateUp make_gate_up(const Pattern& pattern, int64_t I, int64_t K) {
  CudaGateUp weight;
  weight.I = I;
  weight.K = K;
  weight.values = pattern.make(padded_rows(I) * K);
  return weight;
}

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
      error.report(what, out_float ? 1e-6 : 3e-3);
      if (out_float) {
        const std::vector<float> row(actual.begin(), actual.begin() + static_cast<ptrdiff_t>(N));
        if (M > 1) {
          report_same_bits(what + ", row 0 as alone", row, first_row);
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

// The products of layers of the 27B model one after the other as a decode step has them, with the
// norms between them but nothing else: what small kernels between large ones cost.
struct DenseLayer {
  CudaLinear in;
  CudaLinear out;
  CudaGateUp gate_up;
  CudaLinear down;
};

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

void time_layers(CudaContext& context) {
  constexpr int64_t kHidden = 5120;
  constexpr int64_t kIn = 16480;
  constexpr int64_t kValues = 6144;
  constexpr int64_t kInner = 17408;
  constexpr int kLayers = 12;  // 9 GB
  const Pattern pattern(kX, 14, 0.02F);
  std::vector<DenseLayer> layers;
  for (int i = 0; i < kLayers; ++i) {
    layers.push_back({.in = make_linear(pattern, kIn, kHidden),
                      .out = make_linear(pattern, kHidden, kValues),
                      .gate_up = make_gate_up(pattern, kInner, kHidden),
                      .down = make_linear(pattern, kHidden, kInner)});
  }
  const CudaMemory residual = to_device(DType::kF32, random_values(kMostRows * kHidden, 6, 1.0F));
  const CudaMemory delta = to_device(DType::kF32, random_values(kMostRows * kHidden, 7, 1.0F));
  const CudaMemory norm = to_device(DType::kF32, random_values(kHidden, 8, 0.1F));
  const CudaMemory normed(kMostRows * kHidden * 2);
  const CudaMemory projected(kMostRows * kIn * 2);
  const CudaMemory inner(kMostRows * kInner * 2);
  const auto run = [&](const Form& form, int64_t M) {
    const auto add_norm = [&] {
      launch_add_rms_norm(context, {.T = M,
                                    .H = kHidden,
                                    .residual = static_cast<float*>(residual.data()),
                                    .delta = static_cast<const float*>(delta.data()),
                                    .weight = static_cast<const float*>(norm.data()),
                                    .out = normed.data()});
    };
    const auto multiply = [&](const CudaLinear& weight, const CudaMemory& x, int64_t x_stride,
                              const CudaMemory& out, bool out_float) {
      form.linear(context, {.M = M,
                            .x = x.data(),
                            .x_stride = x_stride,
                            .weight = &weight,
                            .out = out.data(),
                            .out_stride = weight.N,
                            .out_float = out_float});
    };
    for (const DenseLayer& layer : layers) {
      add_norm();
      multiply(layer.in, normed, kHidden, projected, false);
      multiply(layer.out, projected, kIn, delta, true);
      add_norm();
      form.gate_up(context, {.M = M,
                             .x = normed.data(),
                             .x_stride = kHidden,
                             .weight = &layer.gate_up,
                             .out = inner.data(),
                             .out_stride = kInner});
      multiply(layer.down, inner, kInner, delta, true);
    }
  };
  const double bytes =
      2.0 * static_cast<double>(kIn * kHidden + kHidden * kValues + 3 * kInner * kHidden);
  for (const Form& form : kForms) {
    for (const int64_t M : {1, 8, 16, 32}) {
      if (!form.serves(context, M, kHidden, kHidden)) {
        continue;
      }
      run(form, M);
      print_time(std::string(form.name) + " 27B layer, products and norms, M " + std::to_string(M),
                 graph_microseconds(
                     context, [&] { run(form, M); }, 11) /
                     kLayers,
                 bytes / kCopyBytes * 1e6);
    }
  }
}

}  // namespace deltaserve::bench
