// The scratch of the CUDA backend's ops is taken when limits are reserved, as much as the memory
// plan was told: the largest step of a model leaves the device's free memory as it is.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/step_graphs.h"
#include "conformance.h"

namespace deltaserve {
namespace {

constexpr int64_t kTokens = 3000;
constexpr int64_t kExperts = 64;
constexpr int32_t kChosen = 8;
constexpr int64_t kInner = 512;
constexpr int64_t kHidden = 1024;
constexpr int64_t kVocab = 100000;

StepLimits make_limits() {
  StepLimits limits{.max_tokens = kTokens, .max_seqs = 64, .max_model_len = 8192};
  limits.model = {.num_heads = 16,
                  .num_kv_heads = 2,
                  .head_dim = 256,
                  .num_k_heads = 16,
                  .num_v_heads = 32,
                  .dk = 128,
                  .dv = 128,
                  .hidden_size = kHidden,
                  .inner_size = kInner,
                  .num_experts = kExperts,
                  .experts_per_token = kChosen,
                  .expert_size = kInner,
                  .vocab_size = kVocab};
  return limits;
}

struct ZeroMatrix {
  std::vector<std::byte> bytes;
  TensorView view;
  ZeroMatrix(int64_t rows, int64_t columns) : bytes(static_cast<size_t>(rows * columns) * 2) {
    view = {.dtype = DType::kBF16, .shape = {rows, columns}, .data = bytes.data()};
  }
};

class ScratchPlanTest : public testing::TestWithParam<BackendCase> {
 protected:
  void moe(int64_t T) {
    const ZeroMatrix in(kInner, kHidden);
    const ZeroMatrix out(kHidden, kInner);
    const std::vector<TensorView> ins(kExperts, in.view);
    const std::vector<TensorView> outs(kExperts, out.view);
    const auto experts = backend_->make_experts(ins, ins, outs).value();
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < T * kChosen; ++i) {
      ids.push_back(static_cast<int32_t>(i % kChosen));
    }
    const auto size = static_cast<size_t>(T * kHidden);
    const DeviceTensor x(*backend_, backend_->compute_dtype(), size);
    const DeviceArray<int32_t> device_ids(*backend_, ids);
    const DeviceTensor weights(*backend_, DType::kF32, static_cast<size_t>(T * kChosen));
    const DeviceTensor shared(*backend_, DType::kF32, size);
    const DeviceTensor result(*backend_, DType::kF32, size);
    expect_no_growth([&] {
      backend_->moe({.T = T,
                     .K = kChosen,
                     .x = x.data(),
                     .x_stride = kHidden,
                     .experts = experts.get(),
                     .expert_ids = device_ids.data(),
                     .weights = weights.floats(),
                     .shared = shared.floats(),
                     .shared_gate = shared.floats(),
                     .shared_gate_stride = kHidden,
                     .out = result.floats()});
      EXPECT_EQ(result.values()[0], 0.0F);
    });
  }

  void gate_up(int64_t M) {
    const ZeroMatrix matrix(kInner, kHidden);
    const auto weight = backend_->make_gate_up(matrix.view, matrix.view).value();
    const DeviceTensor x(*backend_, backend_->compute_dtype(), static_cast<size_t>(M * kHidden));
    const DeviceTensor out(*backend_, backend_->compute_dtype(), static_cast<size_t>(M * kInner));
    expect_no_growth([&] {
      backend_->gate_up_silu({.M = M,
                              .x = x.data(),
                              .x_stride = kHidden,
                              .weight = weight.get(),
                              .out = out.data(),
                              .out_stride = kInner});
      EXPECT_EQ(out.values()[0], 0.0F);
    });
  }

  // Code that is loaded at its first launch and the library's own needs are no scratch, but far
  // smaller than any here.
  template <typename F>
  void expect_no_growth(F&& run) {
    constexpr size_t kSlack = size_t{96} << 20;
    const size_t before = backend_->free_memory();
    EXPECT_NO_THROW(run());
    EXPECT_GE(backend_->free_memory() + kSlack, before);
  }

  std::unique_ptr<Backend> backend_ = make_case_backend(GetParam());
};

TEST_P(ScratchPlanTest, IsTakenWhenLimitsAreReserved) {
  const StepLimits limits = make_limits();
  // Graphs of steps take their part of the plan later.
  const int64_t planned = backend_->scratch_bytes(limits) - kStepGraphBytes;
  EXPECT_GE(planned, kTokens * kChosen * (kInner + kHidden) * 2);
  EXPECT_EQ(backend_->scratch_bytes({.max_tokens = kTokens, .max_seqs = 64}), 0);
  const auto before = static_cast<int64_t>(backend_->free_memory());
  ASSERT_TRUE(backend_->reserve(limits).has_value());
  const auto taken = before - static_cast<int64_t>(backend_->free_memory());
  constexpr int64_t kGranule = int64_t{6} << 20;  // of the driver, for three pieces
  EXPECT_NEAR(static_cast<double>(taken), static_cast<double>(planned), kGranule);
  for (const int64_t rows : {int64_t{1}, int64_t{20}, int64_t{70}, kTokens}) {
    moe(rows);
    gate_up(rows);
  }
}

// A device that is too full says so instead of failing in a step.
TEST_P(ScratchPlanTest, LimitsThatDoNotFitAreRefused) {
  StepLimits limits = make_limits();
  limits.max_tokens = int64_t{1} << 33;
  EXPECT_FALSE(backend_->reserve(limits).has_value());
}

INSTANTIATE_TEST_SUITE_P(All, ScratchPlanTest, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
