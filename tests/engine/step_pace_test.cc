// The limit follows the machine: a model of step times goes in, a step within the target comes out.
#include "engine/step_pace.h"

#include <gtest/gtest.h>

#include "ops/batch_view.h"

namespace deltaserve {
namespace {

TEST(StepPace, HasNoLimitWithoutATarget) {
  StepPace pace(0.0);
  pace.record(2048, true, 10.0);
  EXPECT_EQ(pace.prompt_tokens(), 0);
}

TEST(StepPace, BeginsCarefully) {
  const StepPace pace(0.1);
  EXPECT_GE(pace.prompt_tokens(), kChunkSize);
  EXPECT_LE(pace.prompt_tokens(), 512);
}

TEST(StepPace, FindsTheLargestStepWithinTheTarget) {
  for (const double token_seconds : {1e-6, 1e-4, 5e-4}) {
    StepPace pace(0.2);
    constexpr double kDecode = 0.02;
    for (int i = 0; i < 20; ++i) pace.record(0, true, kDecode);
    int64_t tokens = pace.prompt_tokens();
    for (int i = 0; i < 40; ++i) {
      const int64_t taken = std::min<int64_t>(tokens, 2048);
      pace.record(taken, true, kDecode + token_seconds * static_cast<double>(taken));
      tokens = pace.prompt_tokens();
    }
    EXPECT_EQ(tokens % kChunkSize, 0);
    const double step = kDecode + token_seconds * static_cast<double>(tokens);
    EXPECT_LE(step, 0.201);
    EXPECT_GE(step + token_seconds * kChunkSize, 0.18);
  }
}

TEST(StepPace, NeverGoesBelowAChunk) {
  StepPace pace(0.01);
  pace.record(0, true, 1.0);
  pace.record(64, true, 5.0);
  EXPECT_EQ(pace.prompt_tokens(), kChunkSize);
}

TEST(StepPace, ForgetsASlowStep) {
  StepPace pace(0.2);
  for (int i = 0; i < 10; ++i) pace.record(512, true, 0.1);
  const int64_t before = pace.prompt_tokens();
  pace.record(512, true, 3.0);
  EXPECT_LT(pace.prompt_tokens(), before);
  for (int i = 0; i < 30; ++i) pace.record(512, true, 0.1);
  EXPECT_NEAR(static_cast<double>(pace.prompt_tokens()), static_cast<double>(before), kChunkSize);
}

}  // namespace
}  // namespace deltaserve
