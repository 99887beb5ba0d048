// A batch-invariant CUDA backend: a row has the same bits in a step of any number of rows and at
// any place in it, over the numbers at which kernels and tiles change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "conformance.h"
#include "product_rows.h"
#include "random_matrix.h"

namespace deltaserve {
namespace {

constexpr int64_t kAllRows = 2100;
constexpr int64_t kRowCounts[] = {1,  2,  7,   8,   9,   16,  17,  32,   33,
                                  64, 65, 100, 128, 129, 200, 300, 1000, 1024};
constexpr int64_t kFirstRows[] = {0, 777};

std::vector<float> rows_of(const std::vector<float>& all, int64_t first, int64_t rows,
                           int64_t width) {
  return {all.begin() + first * width, all.begin() + (first + rows) * width};
}

class BatchInvariant : public testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    BackendCase large = GetParam();
    large.max_tokens = kAllRows;
    backend_ = make_case_backend(large);
  }

  // `run` makes `width` values a row of rows of `width_in` values. Each number of rows from each
  // place must give what all rows together give.
  template <typename F>
  void expect_row_bits(int64_t width_in, int64_t width, const std::string& what, F&& run) {
    const auto x = random_values(static_cast<size_t>(kAllRows * width_in), 7);
    const auto all = run(x, kAllRows);
    for (const float value : all) {
      ASSERT_TRUE(std::isfinite(value)) << what;
    }
    for (const int64_t rows : kRowCounts) {
      for (const int64_t first : kFirstRows) {
        expect_same_bits(
            run(rows_of(x, first, rows, width_in), rows), rows_of(all, first, rows, width),
            what + ", " + std::to_string(rows) + " rows from " + std::to_string(first));
      }
    }
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(BatchInvariant, Linear) {
  for (const auto& [N, K] : {std::pair{5120, 576}, std::pair{264, 2048}, std::pair{257, 192},
                             std::pair{40, 72}, std::pair{2048, 64}}) {
    const Matrix matrix(N, K, 11);
    const auto weight = backend_->make_linear({&matrix.view, 1}).value();
    for (const bool out_float : {true, false}) {
      const std::string what = std::to_string(N) + " x " + std::to_string(K);
      expect_row_bits(K, N, what, [&](const std::vector<float>& x, int64_t) {
        return linear_rows(*backend_, *weight, x, out_float);
      });
    }
  }
}

TEST_P(BatchInvariant, LinearBias) {
  const Matrix matrix(1152, 448, 12);
  const auto weight = backend_->make_linear({&matrix.view, 1}).value();
  const DeviceTensor bias(*backend_, DType::kF32, random_values(1152, 13));
  expect_row_bits(448, 1152, "with bias", [&](const std::vector<float>& x, int64_t M) {
    const DeviceTensor in(*backend_, backend_->compute_dtype(), x);
    const DeviceTensor out(*backend_, backend_->compute_dtype(), static_cast<size_t>(M * 1152));
    backend_->linear_bias({.linear = {.M = M,
                                      .x = in.data(),
                                      .x_stride = 448,
                                      .weight = weight.get(),
                                      .out = out.data(),
                                      .out_stride = 1152},
                           .bias = bias.floats(),
                           .activation = Activation::kGeluTanh});
    return out.values();
  });
}

TEST_P(BatchInvariant, GateUpSilu) {
  for (const auto& [I, K] : {std::pair{2560, 576}, std::pair{100, 128}, std::pair{512, 2048}}) {
    const Matrix gate(I, K, 21);
    const Matrix up(I, K, 22);
    const auto weight = backend_->make_gate_up(gate.view, up.view).value();
    const std::string what = "2 x " + std::to_string(I) + " x " + std::to_string(K);
    expect_row_bits(K, I, what, [&](const std::vector<float>& x, int64_t) {
      return gate_up_rows(*backend_, *weight, x);
    });
  }
}

// Experts, and all that a block of them has beside.
class InvariantExperts : public BatchInvariant {
 protected:
  static constexpr int32_t kE = 16;
  static constexpr int64_t kI = 128;
  static constexpr int64_t kH = 256;
  static constexpr int32_t kK = 4;
  static constexpr int64_t kLogitsStride = 32;

  void SetUp() override {
    BatchInvariant::SetUp();
    std::vector<Matrix> matrices;
    for (uint32_t i = 0; i < 3 * kE; ++i) {
      const bool down = i % 3 == 2;
      matrices.emplace_back(down ? kH : kI, down ? kI : kH, 100 + i);
    }
    std::vector<TensorView> views[3];
    for (size_t i = 0; i < matrices.size(); ++i) {
      views[i % 3].push_back(matrices[i].view);
    }
    experts_ = backend_->make_experts(views[0], views[1], views[2]).value();
    const Matrix router(kE + 1, kH, 1);
    const Matrix gate(kI, kH, 2);
    const Matrix up(kI, kH, 3);
    const Matrix down(kH, kI, 4);
    router_ = backend_->make_linear({&router.view, 1}).value();
    gate_up_ = backend_->make_gate_up(gate.view, up.view).value();
    down_ = backend_->make_linear({&down.view, 1}).value();
  }

  std::unique_ptr<ExpertsWeight> experts_;
  std::unique_ptr<LinearWeight> router_;
  std::unique_ptr<GateUpWeight> gate_up_;
  std::unique_ptr<LinearWeight> down_;
};

class InvariantBlock : public InvariantExperts {};

TEST_P(InvariantBlock, Block) {
  const DeviceTensor norm(*backend_, DType::kF32, random_values(kH, 7, 0.2F));
  const DType x = backend_->compute_dtype();
  expect_row_bits(kH, kH, "block", [&](const std::vector<float>& values, int64_t T) {
    const auto size = static_cast<size_t>(T * kH);
    const DeviceTensor residual(*backend_, DType::kF32, values);
    const DeviceTensor normed(*backend_, x, size);
    const DeviceTensor logits(*backend_, DType::kF32, static_cast<size_t>(T * kLogitsStride));
    const DeviceTensor weights(*backend_, DType::kF32, static_cast<size_t>(T * kK));
    const DeviceArray<int32_t> ids(*backend_, std::vector<int32_t>(static_cast<size_t>(T * kK)));
    const DeviceTensor inner(*backend_, x, static_cast<size_t>(T * kI));
    const DeviceTensor shared(*backend_, DType::kF32, size);
    EXPECT_TRUE(backend_->moe_block({.T = T,
                                     .H = kH,
                                     .K = kK,
                                     .renormalize = true,
                                     .residual = residual.floats(),
                                     .delta = nullptr,
                                     .norm_weight = norm.floats(),
                                     .eps = 1e-6F,
                                     .router = router_.get(),
                                     .experts = experts_.get(),
                                     .shared_gate_up = gate_up_.get(),
                                     .shared_down = down_.get(),
                                     .x = normed.data(),
                                     .logits = logits.floats(),
                                     .logits_stride = kLogitsStride,
                                     .expert_ids = ids.data(),
                                     .weights = weights.floats(),
                                     .inner = inner.data(),
                                     .inner_stride = kI,
                                     .shared = shared.floats()}));
    return residual.values();
  });
}

TEST_P(InvariantExperts, Moe) {
  const DType dtype = backend_->compute_dtype();
  expect_row_bits(kH, kH, "moe", [&](const std::vector<float>& values, int64_t T) {
    // What belongs to a row follows from its values, so that it is the same at every place.
    std::vector<int32_t> ids;
    std::vector<float> weights;
    for (int64_t t = 0; t < T; ++t) {
      const float* const row = &values[static_cast<size_t>(t * kH)];
      const auto first = static_cast<int32_t>(std::fabs(row[0]) * 64.0F) % (kE - 3 * (kK - 1));
      for (int32_t k = 0; k < kK; ++k) {
        ids.push_back(first + 3 * k);
        weights.push_back(row[k + 1]);
      }
    }
    const DeviceTensor in(*backend_, dtype, values);
    const DeviceArray<int32_t> device_ids(*backend_, ids);
    const DeviceTensor device_weights(*backend_, DType::kF32, weights);
    const DeviceTensor shared(*backend_, DType::kF32, values);
    const DeviceTensor out(*backend_, DType::kF32, values.size());
    backend_->moe({.T = T,
                   .K = kK,
                   .x = in.data(),
                   .x_stride = kH,
                   .experts = experts_.get(),
                   .expert_ids = device_ids.data(),
                   .weights = device_weights.floats(),
                   .shared = shared.floats(),
                   .shared_gate = shared.floats(),
                   .shared_gate_stride = kH,
                   .out = out.floats()});
    return out.values();
  });
}

INSTANTIATE_TEST_SUITE_P(All, BatchInvariant, testing::ValuesIn(bit_exact_cases()),
                         [](const auto& test) { return case_name(test.param); });
// Float32 has no block.
INSTANTIATE_TEST_SUITE_P(All, InvariantBlock,
                         testing::Values(BackendCase{.x_dtype = DType::kBF16,
                                                     .batch_invariant = true}),
                         [](const auto& test) { return case_name(test.param); });
INSTANTIATE_TEST_SUITE_P(All, InvariantExperts, testing::ValuesIn(bit_exact_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
