// linear_norm and the products that take its scale, against the reference's separate ops: one row
// and the numbers of rows that streamed products take, with short and long sides of the matrices in
// front and behind. Others it must refuse and leave alone.
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
// Rows of the matrices behind: for 2 to 32 rows, and for 9 to 32.
constexpr int64_t kNext = 5120;
constexpr int64_t kFewerNext = 4096;
// K of the product in front: of 9 to 32 rows, and of 2 to 32.
constexpr int64_t kInner = 1024;
constexpr int64_t kLongInner = 5120;

struct Matrices {
  Matrix front{kHidden, kInner, 1};
  Matrix long_front{kHidden, kLongInner, 8};
  Matrix next{kNext, kHidden, 2};
  Matrix gate{kNext / 2, kHidden, 3};
  Matrix up{kNext / 2, kHidden, 4};

  // The same for all cases: they take long to make.
  static const Matrices& get() {
    static const Matrices instance;
    return instance;
  }
};

// The first rows of a matrix.
TensorView first_rows(const Matrix& matrix, int64_t rows) {
  TensorView view = matrix.view;
  view.shape[0] = rows;
  return view;
}

struct Rows {
  int64_t M;
  float scale;  // of the residual
  int64_t inner = kInner;
  int64_t next = kNext;
};

struct Results {
  bool fused = false;
  std::vector<float> residual;  // [M, H]
  std::vector<float> next;      // [M, next]
  std::vector<float> gated;     // [M, next / 2]
};

Results run(Backend& backend, const Rows& rows) {
  const auto& [M, scale, inner, next_rows] = rows;
  const Matrices& matrices = Matrices::get();
  const Matrix& in_front = inner == kInner ? matrices.front : matrices.long_front;
  const DType x = backend.compute_dtype();
  const auto front = backend.make_linear({{in_front.view}}).value();
  const auto next = backend.make_linear({{first_rows(matrices.next, next_rows)}}).value();
  const auto gate_up = backend
                           .make_gate_up(first_rows(matrices.gate, next_rows / 2),
                                         first_rows(matrices.up, next_rows / 2))
                           .value();
  const auto elements = static_cast<size_t>(M * kHidden);
  const DeviceTensor in(backend, x, random_values(static_cast<size_t>(M * inner), 5));
  const DeviceTensor residual(backend, DType::kF32, random_values(elements, 6, scale));
  const DeviceTensor weight(backend, DType::kF32, random_values(kHidden, 7, 0.3F));
  const DeviceTensor delta(backend, DType::kF32, elements);
  const DeviceTensor normed(backend, x, elements);
  const DeviceTensor squares(backend, DType::kF32, size_t{kNormSquares});
  const DeviceTensor out(backend, DType::kF32, static_cast<size_t>(M * next_rows));
  const DeviceTensor gated(backend, x, static_cast<size_t>(M * next_rows / 2));
  LinearArgs product = {.M = M,
                        .x = in.data(),
                        .x_stride = inner,
                        .weight = front.get(),
                        .out_stride = kHidden,
                        .out_float = true};
  const std::optional<NormScale> left = backend.linear_norm({.linear = product,
                                                             .residual = residual.floats(),
                                                             .weight = weight.floats(),
                                                             .out = normed.data(),
                                                             .squares = squares.floats(),
                                                             .next_rows = next_rows});
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
                  .out_stride = next_rows,
                  .out_float = true,
                  .x_scale = left.value_or(NormScale{})});
  backend.gate_up_silu({.M = M,
                        .x = normed.data(),
                        .x_stride = kHidden,
                        .weight = gate_up.get(),
                        .out = gated.data(),
                        .out_stride = next_rows / 2,
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

using NormRowsCase = std::tuple<BackendCase, Rows>;
class LinearNorm : public testing::TestWithParam<NormRowsCase> {};

TEST_P(LinearNorm, MatchesSeparateOpsOfTheReference) {
  const auto& [backend_case, rows] = GetParam();
  const auto backend = make_case_backend(backend_case);
  const auto reference = make_reference_backend(backend_case.x_dtype);
  const bool exact = backend_case.x_dtype == DType::kF32;
  // Two roundings to bfloat16 that differ, of x and of the result: 2^-9 / sqrt(3) each.
  const double bound = exact ? 2e-6 : 2.5e-3;
  const Results actual = run(*backend, rows);
  const Results expected = run(*reference, rows);
  // The error of a chain of sums grows with its length.
  const double sum_bound = 1e-5 * static_cast<double>(rows.inner) / kInner;
  expect_close(actual.residual, expected.residual, sum_bound, sum_bound, "residual");
  EXPECT_LT(error_of(actual.next, expected.next), bound);
  EXPECT_LT(error_of(actual.gated, expected.gated), exact ? bound : 5e-3);  // of two factors
  if (rows.M == 1) {
    EXPECT_EQ(actual.fused, !exact && !backend_case.batch_invariant);
  } else {
    const bool is_long = rows.inner == kLongInner && rows.next == kNext;
    EXPECT_EQ(actual.fused, (rows.M >= 9 || is_long) && has_hopper_products(backend_case));
  }
}

class LinearNormSteps : public testing::TestWithParam<BackendCase> {};

// As their products do, the fused ones add up a row in one order for all numbers of rows.
TEST_P(LinearNormSteps, ARowHasTheSameBitsInLargerSteps) {
  const auto backend = make_case_backend(GetParam());
  for (const Rows& rows : {Rows{9, 1.0F}, Rows{2, 1.0F, kLongInner}}) {
    const Results few = run(*backend, rows);
    const Results many = run(*backend, {32, rows.scale, rows.inner});
    const auto head = [&](const std::vector<float>& values, int64_t width) {
      return std::vector<float>(values.begin(), values.begin() + rows.M * width);
    };
    if (few.fused) {
      expect_same_bits(head(many.residual, kHidden), few.residual, "residual");
      expect_same_bits(head(many.next, kNext), few.next, "next product");
      expect_same_bits(head(many.gated, kNext / 2), few.gated, "gate and up");
    }
    EXPECT_EQ(few.fused, has_hopper_products(GetParam()));
    EXPECT_EQ(many.fused, few.fused);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LinearNorm,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::Values(Rows{1, 1e-3F}, Rows{2, 1.0F},
                                                          Rows{9, 30.0F, kInner, kFewerNext},
                                                          Rows{18, 1.0F}, Rows{2, 1.0F, kLongInner},
                                                          Rows{8, 1.0F, kLongInner},
                                                          Rows{8, 1.0F, kLongInner, kFewerNext})),
                         [](const auto& test) {
                           const Rows& rows = std::get<1>(test.param);
                           return case_name(std::get<0>(test.param)) + "_" +
                                  std::to_string(rows.M) +
                                  (rows.inner == kLongInner ? "_long" : "") +
                                  (rows.next == kFewerNext ? "_fewer_next" : "");
                         });

INSTANTIATE_TEST_SUITE_P(All, LinearNormSteps, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
