// linear and gate_up_silu of the CPU backend against sums in double, on every instruction set of
// the machine; and that a row's bits depend on that row alone.
#include <cmath>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/cpu_info.h"
#include "backends/cpu/isa/tables.h"
#include "backends/cpu/matrix_ops.h"
#include "cpu_test_util.h"
#include "placement_util.h"

namespace deltaserve {
namespace {

struct Shape {
  int64_t M;
  int64_t N;
  int64_t K;
};

const Shape kShapes[] = {{1, 1, 1},    {2, 5, 3},     {3, 32, 32},   {5, 33, 48},  {12, 64, 64},
                         {13, 48, 96}, {17, 100, 31}, {40, 257, 80}, {70, 96, 600}};

struct Linear {
  CpuContext context;
  std::unique_ptr<LinearWeight> weight;

  Linear(DType x, CpuIsa isa, int32_t threads, const OwnedTensor& w, ThreadPlacement placement = {})
      : context(x, isa, threads, std::move(placement)) {
    weight = make_cpu_linear(context, {&w.view, 1}).value();
  }

  std::vector<std::byte> run(int64_t M, const std::byte* x, bool out_float = false) {
    const DType out_dtype = out_float ? DType::kF32 : context.compute_dtype;
    std::vector<std::byte> out(static_cast<size_t>(M * weight->N * dtype_size(out_dtype)));
    cpu_linear(context, {.M = M,
                         .x = x,
                         .x_stride = weight->K,
                         .weight = weight.get(),
                         .out = out.data(),
                         .out_stride = weight->N,
                         .out_float = out_float});
    return out;
  }
};

std::vector<double> exact_product(const std::vector<float>& x, const std::vector<float>& w,
                                  const Shape& s) {
  std::vector<double> out(static_cast<size_t>(s.M * s.N));
  for (int64_t m = 0; m < s.M; ++m) {
    for (int64_t n = 0; n < s.N; ++n) {
      double sum = 0.0;
      for (int64_t k = 0; k < s.K; ++k) {
        sum += static_cast<double>(x[static_cast<size_t>(m * s.K + k)]) *
               w[static_cast<size_t>(n * s.K + k)];
      }
      out[static_cast<size_t>(m * s.N + n)] = sum;
    }
  }
  return out;
}

class CpuLinear : public testing::TestWithParam<CpuIsa> {};

TEST_P(CpuLinear, MatchesDoubleSums) {
  for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
    for (const DType w_dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      for (const Shape& s : kShapes) {
        const auto x = uniform_values(static_cast<size_t>(s.M * s.K), 1);
        const auto w = uniform_values(static_cast<size_t>(s.N * s.K), 2);
        const OwnedTensor w_tensor(w_dtype, {s.N, s.K}, w);
        Linear linear(x_dtype, GetParam(), 2, w_tensor);
        const auto out = from_x(DType::kF32, linear.run(s.M, to_x(x_dtype, x).data(), true));
        const auto expected = exact_product(x, w, s);
        for (size_t i = 0; i < expected.size(); ++i) {
          ASSERT_NEAR(out[i], expected[i], 2e-6 * static_cast<double>(s.K))
              << s.M << "x" << s.N << "x" << s.K << " at " << i;
        }
      }
    }
  }
}

TEST_P(CpuLinear, RoundsToBf16Once) {
  const Shape s{7, 70, 64};
  const auto x = to_x(DType::kBF16, uniform_values(static_cast<size_t>(s.M * s.K), 3));
  const OwnedTensor w(DType::kBF16, {s.N, s.K}, uniform_values(static_cast<size_t>(s.N * s.K), 4));
  Linear linear(DType::kBF16, GetParam(), 2, w);
  const auto wide = from_x(DType::kF32, linear.run(s.M, x.data(), true));
  EXPECT_EQ(linear.run(s.M, x.data()), to_x(DType::kBF16, wide));
}

// The row under test stands at different places of batches of different sizes.
TEST_P(CpuLinear, RowBitsDependOnTheRowOnly) {
  const int64_t N = 200;
  const int64_t K = 1312;    // several K blocks and an uneven last one
  const int64_t rows = 600;  // more than one row block
  for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
    const auto x = to_x(x_dtype, uniform_values(static_cast<size_t>(rows * K), 5));
    const OwnedTensor w(DType::kBF16, {N, K}, uniform_values(static_cast<size_t>(N * K), 6, 0.37F));
    Linear one(x_dtype, GetParam(), 1, w);
    const auto row_bytes = static_cast<size_t>(K * dtype_size(x_dtype));
    const auto all = one.run(rows, x.data(), true);
    const size_t out_bytes = static_cast<size_t>(N) * sizeof(float);
    for (const int64_t M : {1, 2, 3, 7, 12, 13, 16, 64, 600}) {
      for (const int32_t threads : {1, 2, 3}) {
        Linear other(x_dtype, GetParam(), threads, w);
        const int64_t first = rows - M;
        const auto out = other.run(M, x.data() + static_cast<size_t>(first) * row_bytes, true);
        ASSERT_EQ(0, std::memcmp(out.data(), all.data() + static_cast<size_t>(first) * out_bytes,
                                 out.size()))
            << "M " << M << ", threads " << threads;
      }
    }
  }
}

// Panels shared out between two memory nodes, of which one may get none.
TEST_P(CpuLinear, PlacementKeepsBits) {
  const int64_t K = 320;
  const int64_t rows = 530;
  for (const int64_t N : {20, 200, 1000}) {
    for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
      const auto x = to_x(x_dtype, uniform_values(static_cast<size_t>(rows * K), 5));
      const OwnedTensor w(DType::kBF16, {N, K}, uniform_values(static_cast<size_t>(N * K), 6));
      Linear one(x_dtype, GetParam(), 1, w);
      for (const int32_t threads : {2, 3, 5}) {
        Linear placed(x_dtype, GetParam(), threads, w, same_node_twice(threads));
        for (const int64_t M : {int64_t{1}, int64_t{17}, rows}) {
          ASSERT_EQ(placed.run(M, x.data()), one.run(M, x.data())) << M << ", threads " << threads;
        }
      }
    }
  }
}

TEST_P(CpuLinear, StacksPartsAndRespectsStrides) {
  const int64_t K = 64;
  const auto a = uniform_values(static_cast<size_t>(20 * K), 7);
  const auto b = uniform_values(static_cast<size_t>(30 * K), 8);
  const OwnedTensor part_a(DType::kBF16, {20, K}, a);
  const OwnedTensor part_b(DType::kBF16, {30, K}, b);
  CpuContext context(DType::kF32, GetParam(), 2);
  const std::vector<TensorView> parts = {part_a.view, part_b.view};
  const auto weight = make_cpu_linear(context, parts).value();
  ASSERT_EQ(weight->N, 50);
  const int64_t x_stride = 100;
  const int64_t out_stride = 64;
  const auto x = uniform_values(static_cast<size_t>(4 * x_stride), 9);
  std::vector<float> out(static_cast<size_t>(4 * out_stride), -7.0F);
  cpu_linear(context, {.M = 4,
                       .x = x.data(),
                       .x_stride = x_stride,
                       .weight = weight.get(),
                       .out = out.data(),
                       .out_stride = out_stride});
  for (int64_t m = 0; m < 4; ++m) {
    for (int64_t n = 0; n < out_stride; ++n) {
      const float value = out[static_cast<size_t>(m * out_stride + n)];
      if (n >= 50) {
        ASSERT_EQ(value, -7.0F) << "written beyond N";
        continue;
      }
      const float* row =
          n < 20 ? &a[static_cast<size_t>(n * K)] : &b[static_cast<size_t>((n - 20) * K)];
      double sum = 0.0;
      for (int64_t k = 0; k < K; ++k) {
        sum += static_cast<double>(x[static_cast<size_t>(m * x_stride + k)]) * row[k];
      }
      ASSERT_NEAR(value, sum, 1e-4);
    }
  }
}

TEST_P(CpuLinear, GateUpIsSiluOfGateTimesUp) {
  for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
    for (const Shape& s : {Shape{1, 16, 32}, Shape{5, 40, 48}, Shape{30, 96, 320}}) {
      const auto x = uniform_values(static_cast<size_t>(s.M * s.K), 10);
      const auto gate = uniform_values(static_cast<size_t>(s.N * s.K), 11);
      const auto up = uniform_values(static_cast<size_t>(s.N * s.K), 12);
      const OwnedTensor gate_tensor(DType::kBF16, {s.N, s.K}, gate);
      const OwnedTensor up_tensor(DType::kBF16, {s.N, s.K}, up);
      CpuContext context(x_dtype, GetParam(), 2);
      const auto weight = make_cpu_gate_up(context, gate_tensor.view, up_tensor.view).value();
      std::vector<std::byte> out(static_cast<size_t>(s.M * s.N * dtype_size(x_dtype)));
      const auto x_bytes = to_x(x_dtype, x);
      cpu_gate_up_silu(context, {.M = s.M,
                                 .x = x_bytes.data(),
                                 .x_stride = s.K,
                                 .weight = weight.get(),
                                 .out = out.data(),
                                 .out_stride = s.N});
      const auto values = from_x(x_dtype, out);
      const auto g = exact_product(x, gate, s);
      const auto u = exact_product(x, up, s);
      const double relative = x_dtype == DType::kF32 ? 1e-6 : 1.0 / 256;
      for (size_t i = 0; i < values.size(); ++i) {
        const double expected = g[i] / (1.0 + std::exp(-g[i])) * u[i];
        ASSERT_NEAR(values[i], expected, relative * std::abs(expected) + 1e-4);
      }
    }
  }
}

TEST(CpuLinearAcrossIsas, Bf16ProductsAreTheSameBits) {
  const int64_t M = 20;
  const int64_t N = 64;
  const int64_t K = 720;
  const auto x = to_x(DType::kBF16, uniform_values(static_cast<size_t>(M * K), 13, 0.71F));
  const OwnedTensor w(DType::kBF16, {N, K}, uniform_values(static_cast<size_t>(N * K), 14, 0.37F));
  std::optional<std::vector<std::byte>> first;
  for (const CpuIsa isa : machine_isas()) {
    if (isa == CpuIsa::kAmx) {
      continue;  // has an order of its own: below
    }
    const auto out = Linear(DType::kBF16, isa, 2, w).run(M, x.data(), true);
    if (!first) {
      first = out;
    }
    EXPECT_EQ(out, *first) << cpu_isa_name(isa);
  }
}

#if defined(__x86_64__)
// Of these two a machine takes the faster one.
TEST(CpuLinearAcrossIsas, BothBf16KernelsOfAvx512Bf16GiveTheSameBits) {
  const int64_t K = 720;
  const int64_t panel_depth = 736;  // K in whole groups of 32
  const auto x = to_x(DType::kBF16, uniform_values(static_cast<size_t>(12 * K), 17, 0.71F));
  const auto panel =
      to_x(DType::kBF16, uniform_values(static_cast<size_t>(32 * panel_depth), 18, 0.37F));
  for (const CpuIsa isa : machine_isas()) {
    for (int64_t rows = 1; rows <= 12 && isa == CpuIsa::kAvx512Bf16; ++rows) {
      std::vector<std::vector<float>> sums;
      for (const MatrixKernels& kernels : {kAvx512Bf16Kernels.bf16, kAvx512WidenedKernels.bf16}) {
        std::vector<std::byte> packed(static_cast<size_t>(rows * K) * 4);
        kernels.pack(x.data(), K, rows, K, packed.data());
        std::vector<float> c(static_cast<size_t>(rows * kPanelColumns));
        kernels.multiply({.a = packed.data(),
                          .panel = panel.data(),
                          .panel_bytes = panel_depth * kPanelColumns * 2,
                          .c = c.data(),
                          .k = K,
                          .rows = rows});
        sums.push_back(std::move(c));
      }
      EXPECT_EQ(sums[0], sums[1]) << rows << " rows";
    }
  }
}
#endif

// TDPBF16PS: for every 32 of K one chain of fused multiply-adds over the even products and one over
// the odd ones, each from zero; their sum is added to the result.
float amx_sum(const float* x, const float* w, int64_t K) {
  float sum = 0.0F;
  for (int64_t k = 0; k < K; k += 32) {
    float even = 0.0F;
    float odd = 0.0F;
    for (int64_t i = k; i < std::min(k + 32, K); i += 2) {
      even = std::fma(x[i], w[i], even);
      odd = std::fma(x[i + 1], w[i + 1], odd);
    }
    sum += even + odd;
  }
  return sum;
}

TEST(CpuLinearAcrossIsas, AmxAddsInItsOwnOrder) {
  const int64_t N = 70;
  const int64_t K = 2600;
  const auto x = uniform_values(static_cast<size_t>(300 * K), 15, 0.71F);
  const auto w = uniform_values(static_cast<size_t>(N * K), 16, 0.37F);
  const OwnedTensor w_tensor(DType::kBF16, {N, K}, w);
  const auto rounded_x = to_x(DType::kBF16, x);
  const auto x_values = from_x(DType::kBF16, rounded_x);
  const auto w_values = to_float_vector(w_tensor.view);
  for (const CpuIsa isa : machine_isas()) {
    if (isa != CpuIsa::kAmx) {
      continue;
    }
    for (const int64_t M : {1, 16, 20, 32, 70, 300}) {
      const auto out = from_x(
          DType::kF32, Linear(DType::kBF16, isa, 2, w_tensor).run(M, rounded_x.data(), true));
      for (int64_t i = 0; i < M * N; ++i) {
        ASSERT_EQ(out[static_cast<size_t>(i)],
                  amx_sum(&x_values[static_cast<size_t>(i / N * K)],
                          &w_values[static_cast<size_t>(i % N * K)], K))
            << "M " << M << " at " << i;
      }
    }
  }
}

TEST(CpuLinearErrors, RefusesWhatNoKernelServes) {
  CpuContext context(DType::kF32, CpuIsa::kPortable, 1);
  OwnedTensor w(DType::kF32, {4, 8}, std::vector<float>(32));
  w.view.dtype = DType::kI8;
  EXPECT_FALSE(make_cpu_linear(context, {&w.view, 1}).has_value());
  w.view.dtype = DType::kF32;
  w.view.shape = {32};
  EXPECT_FALSE(make_cpu_linear(context, {&w.view, 1}).has_value());
  EXPECT_FALSE(make_cpu_linear(context, {}).has_value());
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuLinear, testing::ValuesIn(machine_isas()),
                         [](const auto& isa) { return std::string(cpu_isa_name(isa.param)); });

}  // namespace
}  // namespace deltaserve
