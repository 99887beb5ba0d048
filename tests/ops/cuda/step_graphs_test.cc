// Steps through the CUDA backend's run_step: as they are, recorded, repeated, and after one that
// could not be recorded.
#include <gtest/gtest.h>

#include <stdexcept>

#include "backends/cuda/step_graphs.h"
#include "conformance.h"

namespace deltaserve {
namespace {

class StepGraphsTest : public testing::TestWithParam<BackendCase> {
 protected:
  // residual += one more at each step.
  void add_one() {
    backend_->add_positions({.T = 1,
                             .H = 4,
                             .table = ones_.floats(),
                             .taps = taps_.data(),
                             .weights = weights_.floats(),
                             .residual = residual_.floats()});
  }
  void expect_steps(float count) { EXPECT_EQ(residual_.values(), std::vector<float>(4, count)); }

  std::unique_ptr<Backend> backend_ = make_case_backend(GetParam());
  DeviceTensor ones_{*backend_, DType::kF32, std::vector<float>(4, 1.0F)};
  DeviceArray<int32_t> taps_{*backend_, {0, 0, 0, 0}};
  DeviceTensor weights_{*backend_, DType::kF32, {1.0F, 0.0F, 0.0F, 0.0F}};
  DeviceTensor residual_{*backend_, DType::kF32, 4};
};

TEST_P(StepGraphsTest, RecordedStepsDoTheSameWork) {
  const StepKey key = {.num_seqs = 1, .max_blocks_per_seq = 1};
  for (int step = 1; step <= 4; ++step) {
    backend_->run_step(key, [&] { add_one(); });
    expect_steps(static_cast<float>(step));
  }
}

// Taking memory is not allowed in what is recorded, so the second step fails. The ones after it
// find nothing of that.
TEST_P(StepGraphsTest, AStepThatCannotBeRecordedFailsAlone) {
  const StepKey key = {.num_seqs = 2, .max_blocks_per_seq = 1};
  backend_->run_step(key, [&] { add_one(); });
  EXPECT_THROW(backend_->run_step(key,
                                  [&] {
                                    add_one();
                                    static_cast<void>(backend_->allocate(64));
                                  }),
               std::runtime_error);
  expect_steps(1.0F);
  for (int step = 2; step <= 5; ++step) {
    backend_->run_step(key, [&] { add_one(); });
    expect_steps(static_cast<float>(step));
  }
}

// Graphs of 90,000 kernels, more than there is room for at once, take no more than their part of
// the memory plan, and those that were dropped work when they are made again.
TEST(StepGraphs, StayWithinTheirMemory) {
  constexpr int kKernels = 1000;
  constexpr int kKeys = 90;
  const auto backend = make_case_backend({.x_dtype = DType::kF32});
  const DeviceTensor ones(*backend, DType::kF32, std::vector<float>(4, 1.0F));
  const DeviceArray<int32_t> taps(*backend, {0, 0, 0, 0});
  const DeviceTensor weights(*backend, DType::kF32, {1.0F, 0.0F, 0.0F, 0.0F});
  const DeviceTensor residual(*backend, DType::kF32, 4);
  const AddPositionsArgs args = {.T = 1,
                                 .H = 4,
                                 .table = ones.floats(),
                                 .taps = taps.data(),
                                 .weights = weights.floats(),
                                 .residual = residual.floats()};
  int steps = 0;
  const auto run = [&](int num_seqs, int times) {
    for (int i = 0; i < times; ++i, ++steps) {
      backend->run_step({.num_seqs = num_seqs, .max_blocks_per_seq = 1}, [&] {
        for (int k = 0; k < kKernels; ++k) backend->add_positions(args);
      });
    }
  };
  run(1, 2);
  const auto before = static_cast<int64_t>(backend->free_memory());
  for (int num_seqs = 2; num_seqs <= kKeys; ++num_seqs) run(num_seqs, 2);
  run(1, 3);
  EXPECT_EQ(residual.values(), std::vector<float>(4, static_cast<float>(steps * kKernels)));
  EXPECT_LE(before - static_cast<int64_t>(backend->free_memory()), kStepGraphBytes);
}

INSTANTIATE_TEST_SUITE_P(All, StepGraphsTest, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
