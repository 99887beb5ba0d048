// Products with 8-bit and 4-bit weights on the CPU backend against sums in double of the integers
// times their scales, on every instruction set of the machine; and that a row's bits depend on that
// row alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/matrix_ops.h"
#include "cpu_quantized_util.h"
#include "cpu_test_util.h"
#include "tensor/quantize.h"

namespace deltaserve {
namespace {

struct Shape {
  int64_t M;
  int64_t N;
  int64_t K;
};

// K in whole groups, in parts of one, and below the step of 32.
const Shape kShapes[] = {{1, 1, 2},   {2, 5, 32},   {3, 32, 64},   {5, 33, 48},   {6, 64, 128},
                         {7, 48, 96}, {13, 70, 34}, {40, 257, 80}, {70, 96, 600}, {12, 40, 544}};

class CpuQuantized : public testing::TestWithParam<std::tuple<CpuIsa, int32_t>> {
 protected:
  CpuIsa isa() const { return std::get<0>(GetParam()); }
  int32_t bits() const { return std::get<1>(GetParam()); }
};

TEST_P(CpuQuantized, LinearMatchesDoubleSums) {
  for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
    for (const Shape& s : kShapes) {
      const auto x = uniform_values(static_cast<size_t>(s.M * s.K), 1);
      const auto rounded = rounded_rows(x, s.K, bits());
      const QuantizedMatrix w(s.N, s.K, bits(), 2);
      CpuContext context(x_dtype, isa(), 2);
      const auto weight = make_cpu_linear(context, {&w.tensor.view(), 1}).value();
      const auto out =
          from_x(DType::kF32, run_linear(context, *weight, s.M, to_x(x_dtype, x).data()));
      for (int64_t i = 0; i < s.M * s.N; ++i) {
        const float* row = &w.values[static_cast<size_t>(i % s.N * s.K)];
        const Expected exact =
            exact_dot(&x[static_cast<size_t>(i / s.N * s.K)], row, s.K, levels_of(bits()));
        const Expected near = exact_dot(&rounded[static_cast<size_t>(i / s.N * s.K)], row, s.K);
        ASSERT_NEAR(out[static_cast<size_t>(i)], exact.value, exact.tolerance)
            << s.M << "x" << s.N << "x" << s.K << " at " << i;
        ASSERT_NEAR(out[static_cast<size_t>(i)], near.value, near.tolerance)
            << s.M << "x" << s.N << "x" << s.K << " at " << i;
      }
    }
  }
}

// The row under test stands at different places of batches of different sizes.
TEST_P(CpuQuantized, RowBitsDependOnTheRowOnly) {
  const int64_t N = 200;
  const int64_t K = 1312;    // several K blocks and an uneven last one
  const int64_t rows = 600;  // more than one row block
  const QuantizedMatrix w(N, K, bits(), 6);
  for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
    const auto x = to_x(x_dtype, uniform_values(static_cast<size_t>(rows * K), 5));
    CpuContext one(x_dtype, isa(), 1);
    const auto one_weight = make_cpu_linear(one, {&w.tensor.view(), 1}).value();
    const auto all = run_linear(one, *one_weight, rows, x.data());
    const auto row_bytes = static_cast<size_t>(K * dtype_size(x_dtype));
    const size_t out_bytes = static_cast<size_t>(N) * sizeof(float);
    for (const int32_t threads : {1, 2, 3}) {
      CpuContext context(x_dtype, isa(), threads);
      const auto weight = make_cpu_linear(context, {&w.tensor.view(), 1}).value();
      for (const int64_t M : {1, 2, 3, 4, 6, 7, 12, 13, 16, 17, 64, 600}) {
        const auto first = static_cast<size_t>(rows - M);
        const auto out = run_linear(context, *weight, M, x.data() + first * row_bytes);
        ASSERT_EQ(0, std::memcmp(out.data(), all.data() + first * out_bytes, out.size()))
            << "M " << M << ", threads " << threads;
      }
    }
  }
}

// Projections that are quantised and gates behind them that are not: one weight.
TEST_P(CpuQuantized, KeepsUnquantizedPartsBehind) {
  const int64_t K = 96;
  const int64_t M = 5;
  const QuantizedMatrix w(40, K, bits(), 7);
  const auto gates = uniform_values(static_cast<size_t>(6 * K), 8);
  const OwnedTensor gate_tensor(DType::kBF16, {6, K}, gates);
  CpuContext context(DType::kBF16, isa(), 2);
  const std::vector<TensorView> parts = {w.tensor.view().rows(0, 10), w.tensor.view().rows(10, 40),
                                         gate_tensor.view};
  const auto weight = make_cpu_linear(context, parts).value();
  ASSERT_EQ(weight->N, 46);
  const auto x = uniform_values(static_cast<size_t>(M * K), 9);
  const auto out =
      from_x(DType::kF32, run_linear(context, *weight, M, to_x(DType::kBF16, x).data()));
  const auto rounded = rounded_rows(x, K, bits());
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < 46; ++n) {
      const bool quantized = n < 40;
      const float* row = quantized ? &w.values[static_cast<size_t>(n * K)]
                                   : &gates[static_cast<size_t>((n - 40) * K)];
      const Expected expected = exact_dot((quantized ? rounded : x).data() + m * K, row, K);
      ASSERT_NEAR(out[static_cast<size_t>(m * 46 + n)], expected.value, expected.tolerance);
    }
  }
}

TEST_P(CpuQuantized, GateUpIsSiluOfGateTimesUp) {
  const int64_t M = 30;
  const int64_t I = 40;
  const int64_t K = 320;
  const QuantizedMatrix gate(I, K, bits(), 11);
  const QuantizedMatrix up(I, K, bits(), 12);
  for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
    const auto x = uniform_values(static_cast<size_t>(M * K), 10);
    const auto x_bytes = to_x(x_dtype, x);
    CpuContext context(x_dtype, isa(), 2);
    const auto weight = make_cpu_gate_up(context, gate.tensor.view(), up.tensor.view()).value();
    std::vector<std::byte> out(static_cast<size_t>(M * I * dtype_size(x_dtype)));
    cpu_gate_up_silu(context, {.M = M,
                               .x = x_bytes.data(),
                               .x_stride = K,
                               .weight = weight.get(),
                               .out = out.data(),
                               .out_stride = I});
    const auto values = from_x(x_dtype, out);
    const auto rounded = rounded_rows(x, K, bits());
    for (int64_t i = 0; i < M * I; ++i) {
      const float* row = &rounded[static_cast<size_t>(i / I * K)];
      const double g = exact_dot(row, &gate.values[static_cast<size_t>(i % I * K)], K).value;
      const double u = exact_dot(row, &up.values[static_cast<size_t>(i % I * K)], K).value;
      const double expected = g / (1.0 + std::exp(-g)) * u;
      const double relative = x_dtype == DType::kF32 ? 1e-3 : 1.0 / 128;
      ASSERT_NEAR(values[static_cast<size_t>(i)], expected, relative * std::abs(expected) + 1e-4);
    }
  }
}

// A value that is not finite makes its row's results NaN and touches no other row; a row of zeros
// gives zeros.
TEST_P(CpuQuantized, PassesOnWhatIsNotFinite) {
  const int64_t K = 160;
  const QuantizedMatrix w(34, K, bits(), 13);
  CpuContext context(DType::kBF16, isa(), 2);
  const auto weight = make_cpu_linear(context, {&w.tensor.view(), 1}).value();
  auto x = uniform_values(static_cast<size_t>(4 * K), 14);
  x[static_cast<size_t>(K + 100)] = std::numeric_limits<float>::infinity();
  x[static_cast<size_t>(2 * K)] = std::numeric_limits<float>::quiet_NaN();
  std::fill(x.begin() + 3 * K, x.end(), 0.0F);
  const auto out =
      from_x(DType::kF32, run_linear(context, *weight, 4, to_x(DType::kBF16, x).data()));
  for (size_t n = 0; n < 34; ++n) {
    EXPECT_TRUE(std::isfinite(out[n]));
    EXPECT_TRUE(std::isnan(out[34 + n]));
    EXPECT_TRUE(std::isnan(out[68 + n]));
    EXPECT_EQ(out[102 + n], 0.0F);
  }
}

// The largest activations of either sign, alike or in turn, meet the largest weights of either: no
// sum of the kernels may overflow.
TEST_P(CpuQuantized, HoldsTheLargestSums) {
  const int64_t K = 640;
  const int64_t N = 32;
  for (const float most : {-8.0F, 7.0F}) {
    // The extremes of 4 bits: one -8 in each group sets the scale.
    std::vector<float> w(static_cast<size_t>(N * K), most);
    for (size_t i = 0; i < w.size(); i += 32) {
      w[i] = -8.0F;
    }
    const OwnedTensor floats(DType::kF32, {N, K}, w);
    const QuantizedTensor tensor = QuantizedTensor::make(floats.view, bits(), 1).value();
    const auto values = to_float_vector(tensor.view());
    CpuContext context(DType::kF32, isa(), 1);
    const auto weight = make_cpu_linear(context, {&tensor.view(), 1}).value();
    for (const auto& [even, odd] :
         {std::pair{1.0F, 1.0F}, {-1.0F, -1.0F}, {1.0F, -1.0F}, {-1.0F, 1.0F}}) {
      std::vector<float> x(static_cast<size_t>(20 * K), 2.0F * even);
      for (size_t i = 1; i < x.size(); i += 2) {
        x[i] = 2.0F * odd;
      }
      for (const int64_t M : {1, 20}) {
        const auto out =
            from_x(DType::kF32, run_linear(context, *weight, M, to_x(DType::kF32, x).data()));
        const Expected expected = exact_dot(x.data(), values.data(), K);
        for (const float value : out) {
          ASSERT_NEAR(value, expected.value, expected.tolerance);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuQuantized,
                         testing::Combine(testing::ValuesIn(machine_isas()), testing::Values(8, 4)),
                         [](const auto& test) {
                           return std::string(cpu_isa_name(std::get<0>(test.param))) + "_int" +
                                  std::to_string(std::get<1>(test.param));
                         });

// Sums are exact integers, so instruction sets differ at most in how a scale is multiplied: those
// with fused multiply-adds agree bit by bit.
TEST(CpuQuantizedAcrossIsas, FusedOnesGiveTheSameBits) {
  const int64_t M = 20;
  const int64_t K = 720;
  for (const int32_t bits : {8, 4}) {
    const QuantizedMatrix w(64, K, bits, 15);
    const auto x = to_x(DType::kBF16, uniform_values(static_cast<size_t>(M * K), 16, 0.71F));
    std::optional<std::vector<std::byte>> first;
    for (const CpuIsa isa : machine_isas()) {
      if (isa == CpuIsa::kPortable) {
        continue;
      }
      CpuContext context(DType::kBF16, isa, 2);
      const auto weight = make_cpu_linear(context, {&w.tensor.view(), 1}).value();
      const auto out = run_linear(context, *weight, M, x.data());
      if (!first) {
        first = out;
      }
      EXPECT_EQ(out, *first) << cpu_isa_name(isa);
    }
  }
}

TEST(CpuQuantizedErrors, RefusesWhatNoKernelServes) {
  CpuContext context(DType::kBF16, CpuIsa::kPortable, 1);
  const QuantizedMatrix eight(32, 64, 8, 1);
  const QuantizedMatrix four(32, 64, 4, 1);
  TensorView other_group = eight.tensor.view();
  other_group.quantization.group_size = 48;
  EXPECT_FALSE(make_cpu_linear(context, {&other_group, 1}).has_value());
  EXPECT_FALSE(make_cpu_gate_up(context, eight.tensor.view(), four.tensor.view()).has_value());
  const TensorView floats_first[] = {eight.floats.view, eight.tensor.view()};
  EXPECT_FALSE(make_cpu_linear(context, floats_first).has_value());
  EXPECT_FALSE(make_cpu_embedding(eight.tensor.view()).has_value());
}

}  // namespace
}  // namespace deltaserve
