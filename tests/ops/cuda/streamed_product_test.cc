// linear and gate_up_silu of 9 to 32 rows, or 2 where W is long, where W is streamed
// (streamed_product.cu), in each way in which it shares out W: bands with all of K or parts of it,
// of one, two and three tiles a warpgroup, one and several a thread block, and a K that ends in the
// middle of a stage. Columns that are some apart are compared with sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "conformance.h"
#include "device_util.h"
#include "product_rows.h"
#include "random_matrix.h"

namespace deltaserve {
namespace {

constexpr int64_t kColumnStep = 37;  // prime: no multiple of a tile
constexpr double kSumTolerance = 1e-5;

using Shape = std::pair<int64_t, int64_t>;  // N or I, K

// Numbers of rows of x for which W is streamed, whose N here is long where K is.
std::vector<int64_t> streamed_rows(int64_t K) {
  constexpr int64_t kLong = 5120;
  return K < kLong ? std::vector<int64_t>{9, 16, 17, 32}
                   : std::vector<int64_t>{2, 8, 9, 16, 17, 32};
}

class StreamedProduct : public testing::TestWithParam<std::tuple<BackendCase, Shape>> {
 protected:
  // Rows of x as the backend has them.
  std::vector<float> rounded_x(int64_t M, int64_t K) const {
    std::vector<float> x = random_values(static_cast<size_t>(M * K), 3);
    if (backend_case_.x_dtype == DType::kBF16) {
      for (float& value : x) {
        value = to_float(to_bfloat16(value));
      }
    }
    return x;
  }

  // Every kColumnStep-th value of `width` a row is what expected(m, n) says.
  template <typename F>
  void expect_columns(const std::vector<float>& actual, int64_t M, int64_t width, double relative,
                      const std::string& what, F&& expected) {
    std::vector<float> some;
    std::vector<float> sums;
    for (int64_t m = 0; m < M; ++m) {
      for (int64_t n = m; n < width; n += kColumnStep) {
        some.push_back(actual[static_cast<size_t>(m * width + n)]);
        sums.push_back(static_cast<float>(expected(m, n)));
      }
    }
    expect_close(some, sums, relative, kSumTolerance, what);
  }

  // On a device with these kernels a row has the same bits for any M.
  void expect_first_rows(const std::vector<float>& actual, const std::vector<float>& few,
                         const std::string& what) {
    if (has_hopper_products(backend_case_)) {
      const auto count = static_cast<ptrdiff_t>(few.size());
      expect_same_bits({actual.begin(), actual.begin() + count}, few, what + ", first rows");
    }
  }

  BackendCase backend_case_ = std::get<0>(GetParam());
  Shape shape_ = std::get<1>(GetParam());
  std::unique_ptr<Backend> backend_ = make_case_backend(backend_case_);
};

double dot(const std::vector<float>& x, int64_t m, const Matrix& matrix, int64_t n, int64_t K) {
  double sum = 0.0;
  for (int64_t k = 0; k < K; ++k) {
    sum += static_cast<double>(x[static_cast<size_t>(m * K + k)]) *
           to_float(matrix.values[static_cast<size_t>(n * K + k)]);
  }
  return sum;
}

using StreamedLinear = StreamedProduct;
TEST_P(StreamedLinear, MatchesSumsInDouble) {
  const auto [N, K] = shape_;
  const Matrix matrix(N, K, 1);
  const auto weight = backend_->make_linear({&matrix.view, 1}).value();
  for (const bool out_float : {true, false}) {
    const double relative = out_float ? kSumTolerance : x_tolerance(backend_->compute_dtype());
    std::vector<float> few;
    for (const int64_t M : streamed_rows(K)) {
      const std::vector<float> x = rounded_x(M, K);
      const std::vector<float> values = linear_rows(*backend_, *weight, x, out_float);
      const std::string what = std::to_string(M) + " rows" + (out_float ? ", float32 out" : "");
      expect_columns(values, M, N, relative, what,
                     [&](int64_t m, int64_t n) { return dot(x, m, matrix, n, K); });
      few = few.empty() ? values : few;
      expect_first_rows(values, few, what);
    }
  }
}

using StreamedGateUp = StreamedProduct;
TEST_P(StreamedGateUp, MatchesSumsInDouble) {
  const auto [I, K] = shape_;
  const Matrix gate(I, K, 1);
  const Matrix up(I, K, 2);
  const auto weight = backend_->make_gate_up(gate.view, up.view).value();
  std::vector<float> few;
  for (const int64_t M : streamed_rows(K)) {
    const std::vector<float> x = rounded_x(M, K);
    const std::vector<float> values = gate_up_rows(*backend_, *weight, x);
    const std::string what = std::to_string(M) + " rows";
    expect_columns(values, M, I, x_tolerance(backend_->compute_dtype()), what,
                   [&](int64_t m, int64_t n) {
                     const double g = dot(x, m, gate, n, K);
                     return g / (1.0 + std::exp(-g)) * dot(x, m, up, n, K);
                   });
    few = few.empty() ? values : few;
    expect_first_rows(values, few, what);
  }
}

std::string shape_name(const testing::TestParamInfo<std::tuple<BackendCase, Shape>>& test) {
  const auto& [backend_case, shape] = test.param;
  return case_name(backend_case) + "_" + std::to_string(shape.first) + "_" +
         std::to_string(shape.second);
}

INSTANTIATE_TEST_SUITE_P(All, StreamedLinear,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::Values(Shape{5000, 1408}, Shape{8200, 576},
                                                          Shape{16'480, 576}, Shape{36'100, 512},
                                                          Shape{42'024, 576}, Shape{5200, 5184})),
                         shape_name);

INSTANTIATE_TEST_SUITE_P(All, StreamedGateUp,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::Values(Shape{17'000, 512}, Shape{17'000, 576},
                                                          Shape{2600, 5120})),
                         shape_name);

}  // namespace
}  // namespace deltaserve
