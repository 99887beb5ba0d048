// Products in a fixed order of sums: against float64, the promise that a row has the same bits
// among any number of rows and at any place, and times beside the floors.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/fixed_product.h"
#include "backends/cuda/lt_matmul.h"
#include "graph_timer.h"
#include "kernel_case.h"

namespace deltaserve::bench {
namespace {

constexpr DType kX = DType::kBF16;
constexpr int64_t kAllRows = 2100;
constexpr int64_t kMostTimed = 4096;

struct Patterns {
  Pattern weight{kX, 31, 0.05F};
  Pattern x{kX, 32, 1.0F};
};

// What is multiplied: gate and up of N / 2 columns of out, W as it is, or with bias and GELU.
enum class Kind { kGateUp, kFloat, kBf16, kBias };

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kGateUp:
      return "gate_up";
    case Kind::kFloat:
      return "linear float";
    case Kind::kBf16:
      return "linear";
    case Kind::kBias:
      return "bias and gelu";
  }
  return "";
}

class Case {
 public:
  Case(CudaContext& context, const Patterns& patterns, Kind kind, int64_t N, int64_t K,
       int64_t rows)
      : context_(context),
        patterns_(patterns),
        kind_(kind),
        N_(N),
        K_(K),
        x_(patterns.x.make(rows * K)) {
    weight_.I = N / 2;
    weight_.K = K;
    linear_.N = N;
    linear_.K = K;
    (kind == Kind::kBias ? linear_.values : weight_.values) = patterns.weight.make(N * K);
    bias_ = random_values(static_cast<size_t>(N), 33, 1.0F);
    device_bias_ = to_device(DType::kF32, bias_);
  }

  int64_t columns() const { return kind_ == Kind::kGateUp ? N_ / 2 : N_; }
  DType out_dtype() const { return kind_ == Kind::kFloat ? DType::kF32 : kX; }

  void launch(int64_t first, int64_t M, void* out) {
    const void* const x = static_cast<const std::byte*>(x_.data()) + first * K_ * 2;
    if (kind_ == Kind::kGateUp) {
      launch_fixed_gate_up_silu(context_, {.M = M,
                                           .x = x,
                                           .x_stride = K_,
                                           .weight = &weight_,
                                           .out = out,
                                           .out_stride = columns()});
    } else if (kind_ == Kind::kBias) {
      launch_fixed_bias(
          context_,
          {.linear =
               {.M = M, .x = x, .x_stride = K_, .weight = &linear_, .out = out, .out_stride = N_},
           .bias = static_cast<const float*>(device_bias_.data()),
           .activation = Activation::kGeluTanh});
    } else {
      launch_fixed_product(context_, {.M = M,
                                      .N = N_,
                                      .K = K_,
                                      .x = x,
                                      .x_stride = K_,
                                      .weight = weight_.values.data(),
                                      .out = out,
                                      .out_stride = N_,
                                      .out_float = kind_ == Kind::kFloat});
    }
  }

  // The same by cuBLASLt, as steps without the flag have it for numbers of rows between.
  void launch_library(int64_t M, void* out) {
    if (kind_ == Kind::kGateUp) {
      launch_sliced_gate_up_silu(context_, {.M = M,
                                            .x = x_.data(),
                                            .x_stride = K_,
                                            .weight = &weight_,
                                            .out = out,
                                            .out_stride = columns()});
    } else {
      context_.matmul().run({.M = M,
                             .N = N_,
                             .K = K_,
                             .x = x_.data(),
                             .x_stride = K_,
                             .weight = weight_.values.data(),
                             .out = out,
                             .out_stride = N_,
                             .out_float = kind_ == Kind::kFloat});
    }
  }

  std::vector<float> run(int64_t first, int64_t M) {
    const auto count = static_cast<size_t>(M * columns());
    const CudaMemory out = to_device(out_dtype(), std::vector<float>(count, NAN));
    launch(first, M, out.data());
    check_cuda(cudaStreamSynchronize(context_.stream));
    return to_host(out_dtype(), out.data(), count);
  }

  double expected(int64_t m, int64_t column) const {
    if (kind_ == Kind::kBias) {
      const double sum = dot(m, column) + bias_[static_cast<size_t>(column)];
      return 0.5 * sum * (1.0 + std::tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
    }
    if (kind_ != Kind::kGateUp) {
      return dot(m, column);
    }
    const int64_t row = column / kGateUpGroup * 2 * kGateUpGroup + column % kGateUpGroup;
    const double gate = dot(m, row);
    return gate / (1.0 + std::exp(-gate)) * dot(m, row + kGateUpGroup);
  }

 private:
  double dot(int64_t m, int64_t row) const {
    double sum = 0.0;
    for (int64_t k = 0; k < K_; ++k) {
      sum += static_cast<double>(patterns_.weight[row * K_ + k]) *
             static_cast<double>(patterns_.x[m * K_ + k]);
    }
    return sum;
  }

  CudaContext& context_;
  const Patterns& patterns_;
  Kind kind_;
  int64_t N_;
  int64_t K_;
  CudaGateUp weight_;
  CudaLinear linear_;
  std::vector<float> bias_;
  CudaMemory device_bias_;
  CudaMemory x_;
};

void check_shape(CudaContext& context, Kind kind, int64_t N, int64_t K) {
  const Patterns patterns;
  Case one(context, patterns, kind, N, K, kAllRows);
  const int64_t width = one.columns();
  const std::string shape =
      std::string("fixed ") + name_of(kind) + " " + std::to_string(N) + " x " + std::to_string(K);
  const std::vector<float> all = one.run(0, kAllRows);
  Error error;
  for (int64_t i = 0; i < 4001; ++i) {
    const int64_t m = i * 7919 % kAllRows;
    const int64_t column = i * 104729 % width;
    error.add(all[static_cast<size_t>(m * width + column)], one.expected(m, column), i);
  }
  error.report(shape + " of " + std::to_string(kAllRows) + " rows",
               kind == Kind::kFloat ? 1e-5 : 3e-3);
  for (const int64_t M :
       {1, 2, 7, 8, 9, 16, 17, 32, 33, 64, 65, 100, 128, 129, 200, 300, 512, 1000, 1023, 1024}) {
    for (const int64_t first : {0, 777}) {
      const auto from = all.begin() + static_cast<ptrdiff_t>(first * width);
      report_same_bits(shape + ", " + std::to_string(M) + " rows from " + std::to_string(first),
                       one.run(first, M), {from, from + static_cast<ptrdiff_t>(M * width)});
    }
  }
}

void time_shape(CudaContext& context, const char* what, Kind kind, int64_t N, int64_t K) {
  // Copies of W that together are far larger than the second-level cache.
  const int64_t bytes = N * K * 2;
  const int64_t copies = std::clamp<int64_t>((int64_t{600} << 20) / bytes, 1, 24);
  const Patterns patterns;
  std::vector<Case> cases;
  for (int64_t i = 0; i < copies; ++i) {
    cases.emplace_back(context, patterns, kind, N, K, kMostTimed);
  }
  const CudaMemory out(static_cast<size_t>(kMostTimed * N) * sizeof(float));
  for (const int64_t M : {int64_t{1}, int64_t{8}, int64_t{16}, int64_t{32}, int64_t{64},
                          int64_t{128}, int64_t{256}, int64_t{512}, int64_t{1024}, kMostTimed}) {
    const auto time = [&](const char* form, auto&& launch) {
      const auto run = [&] {
        for (Case& one : cases) {
          launch(one);
        }
      };
      run();
      print_time(std::string(form) + " " + what + " " + std::to_string(N) + " x " +
                     std::to_string(K) + " M " + std::to_string(M),
                 graph_microseconds(context, run, 11) / static_cast<double>(copies),
                 1e6 * std::max(static_cast<double>(bytes) / kCopyBytes,
                                2.0 * static_cast<double>(M * N * K) / kTensorFlops));
    };
    time("fixed", [&](Case& one) { one.launch(0, M, out.data()); });
    if (kind != Kind::kBias && M > kMaxStreamedRows) {
      time("cuBLASLt", [&](Case& one) { one.launch_library(M, out.data()); });
    }
  }
}

}  // namespace

void check_invariant(CudaContext& context) {
  for (const Kind kind : {Kind::kFloat, Kind::kBf16, Kind::kGateUp, Kind::kBias}) {
    check_shape(context, kind, 5120, 1024);
    check_shape(context, kind, 272, 2048);
    check_shape(context, kind, 1040, 64);
  }
  check_shape(context, Kind::kFloat, 257, 576);
  check_shape(context, Kind::kBias, 1152, 4304);
}

void time_invariant(CudaContext& context) {
  time_shape(context, "27B gate_up", Kind::kGateUp, 34816, 5120);
  time_shape(context, "27B down", Kind::kFloat, 5120, 17408);
  time_shape(context, "27B delta in", Kind::kBf16, 16480, 5120);
  time_shape(context, "27B out", Kind::kFloat, 5120, 6144);
  time_shape(context, "35B delta in", Kind::kBf16, 12352, 2048);
  time_shape(context, "35B out", Kind::kFloat, 2048, 4096);
  time_shape(context, "35B router", Kind::kFloat, 264, 2048);
  time_shape(context, "35B shared gate_up", Kind::kGateUp, 1024, 2048);
  time_shape(context, "27B vision qkv", Kind::kBias, 3456, 1152);
  time_shape(context, "27B vision fc1", Kind::kBias, 4304, 1152);
  time_shape(context, "27B vision fc2", Kind::kBias, 1152, 4304);
}

}  // namespace deltaserve::bench
