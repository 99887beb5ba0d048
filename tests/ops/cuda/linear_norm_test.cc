// linear_norm and the products that take its scale, against the reference's separate ops: one row
// and the numbers of rows that streamed products take. Others it must refuse and leave alone.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "conformance.h"
#include "device_util.h"
#include "ops/reference/reference_backend.h"
#include "random_matrix.h"

namespace deltaserve {
namespace {

constexpr int64_t kHidden = 5120;
constexpr int64_t kInner = 1024;  // K of the product in front
constexpr int64_t kNext = 4096;   // rows of the matrices behind

struct Matrices {
  Matrix front{kHidden, kInner, 1};
  Matrix next{kNext, kHidden, 2};
  Matrix gate{kNext / 2, kHidden, 3};
  Matrix up{kNext / 2, kHidden, 4};

  // The same for all cases: they take long to make.
  static const Matrices& get() {
    static const Matrices instance;
    return instance;
  }
};

struct Results {
  bool fused = false;
  std::vector<float> residual;  // [M, H]
  std::vector<float> next;      // [M, kNext]
  std::vector<float> gated;     // [M, kNext / 2]
};

Results run(Backend& backend, const Matrices& matrices, int64_t M, float scale) {
  const DType x = backend.compute_dtype();
  const auto front = backend.make_linear({{matrices.front.view}}).value();
  const auto next = backend.make_linear({{matrices.next.view}}).value();
  const auto gate_up = backend.make_gate_up(matrices.gate.view, matrices.up.view).value();
  const auto elements = static_cast<size_t>(M * kHidden);
  const DeviceTensor in(backend, x, random_values(static_cast<size_t>(M * kInner), 5));
  const DeviceTensor residual(backend, DType::kF32, random_values(elements, 6, scale));
  const DeviceTensor weight(backend, DType::kF32, random_values(kHidden, 7, 0.3F));
  const DeviceTensor delta(backend, DType::kF32, elements);
  const DeviceTensor normed(backend, x, elements);
  const DeviceTensor squares(backend, DType::kF32, size_t{kNormSquares});
  const DeviceTensor out(backend, DType::kF32, static_cast<size_t>(M * kNext));
  const DeviceTensor gated(backend, x, static_cast<size_t>(M * kNext / 2));
  LinearArgs product = {.M = M,
                        .x = in.data(),
                        .x_stride = kInner,
                        .weight = front.get(),
                        .out_stride = kHidden,
                        .out_float = true};
  const std::optional<NormScale> left = backend.linear_norm({.linear = product,
                                                             .residual = residual.floats(),
                                                             .weight = weight.floats(),
                                                             .out = normed.data(),
                                                             .squares = squares.floats(),
                                                             .next_rows = kNext});
  if (!left) {
    expect_same_bits(residual.values(), random_values(elements, 6, scale), "residual as it was");
    product.out = delta.data();
    backend.linear(product);
    backend.add_rms_norm({.T = M,
                          .H = kHidden,
                          .residual = residual.floats(),
                          .delta = delta.floats(),
                          .weight = weight.floats(),
                          .out = normed.data()});
  }
  backend.linear({.M = M,
                  .x = normed.data(),
                  .x_stride = kHidden,
                  .weight = next.get(),
                  .out = out.data(),
                  .out_stride = kNext,
                  .out_float = true,
                  .x_scale = left.value_or(NormScale{})});
  backend.gate_up_silu({.M = M,
                        .x = normed.data(),
                        .x_stride = kHidden,
                        .weight = gate_up.get(),
                        .out = gated.data(),
                        .out_stride = kNext / 2,
                        .x_scale = left.value_or(NormScale{})});
  return {.fused = left.has_value(),
          .residual = residual.values(),
          .next = out.values(),
          .gated = gated.values()};
}

// Relative, in the L2 norm.
double error_of(const std::vector<float>& actual, const std::vector<float>& expected) {
  double error = 0.0;
  double size = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(static_cast<double>(actual[i]) - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  return std::sqrt(error / size);
}

// A case with a number of rows and the size of the residual.
using NormRowsCase = std::tuple<BackendCase, std::pair<int64_t, float>>;
class LinearNorm : public testing::TestWithParam<NormRowsCase> {};

TEST_P(LinearNorm, MatchesSeparateOpsOfTheReference) {
  const auto& [backend_case, rows] = GetParam();
  const auto& [M, scale] = rows;
  const auto backend = make_case_backend(backend_case);
  const auto reference = make_reference_backend(backend_case.x_dtype);
  const bool exact = backend_case.x_dtype == DType::kF32;
  // Two roundings to bfloat16 that differ, of x and of the result: 2^-9 / sqrt(3) each.
  const double bound = exact ? 2e-6 : 2.5e-3;
  const Matrices& matrices = Matrices::get();
  const Results actual = run(*backend, matrices, M, scale);
  const Results expected = run(*reference, matrices, M, scale);
  expect_close(actual.residual, expected.residual, 1e-5, 1e-5, "residual");
  EXPECT_LT(error_of(actual.next, expected.next), bound);
  EXPECT_LT(error_of(actual.gated, expected.gated), exact ? bound : 5e-3);  // of two factors
  if (M == 1) {
    EXPECT_EQ(actual.fused, !exact && !backend_case.batch_invariant);
  } else {
    EXPECT_EQ(actual.fused, M >= 9 && has_hopper_products(backend_case));
  }
}

class LinearNormSteps : public testing::TestWithParam<BackendCase> {};

// As their products do, the fused ones add up a row in one order for 9 to 32 rows.
TEST_P(LinearNormSteps, ARowHasTheSameBitsInLargerSteps) {
  const auto backend = make_case_backend(GetParam());
  const Matrices& matrices = Matrices::get();
  const Results few = run(*backend, matrices, 9, 1.0F);
  const Results many = run(*backend, matrices, 32, 1.0F);
  const auto head = [](const std::vector<float>& values, int64_t width) {
    return std::vector<float>(values.begin(), values.begin() + 9 * width);
  };
  if (few.fused) {
    expect_same_bits(head(many.residual, kHidden), few.residual, "residual");
    expect_same_bits(head(many.next, kNext), few.next, "next product");
    expect_same_bits(head(many.gated, kNext / 2), few.gated, "gate and up");
  }
  EXPECT_EQ(few.fused, has_hopper_products(GetParam()));
  EXPECT_EQ(many.fused, few.fused);
}

INSTANTIATE_TEST_SUITE_P(All, LinearNorm,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::Values(std::pair{1, 1e-3F}, std::pair{2, 1.0F},
                                                          std::pair{9, 30.0F},
                                                          std::pair{18, 1.0F})),
                         [](const auto& test) {
                           return case_name(std::get<0>(test.param)) + "_" +
                                  std::to_string(std::get<1>(test.param).first);
                         });

INSTANTIATE_TEST_SUITE_P(All, LinearNormSteps, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
