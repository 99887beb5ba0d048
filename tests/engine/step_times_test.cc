// What EngineCore learns of a step's time from a device that runs behind it: pieces of a prompt
// that nothing waits for say nothing, and so the pieces beside a stream are as long as the target
// allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "fake_engine.h"

namespace deltaserve {
namespace {

using Time = RequestTimes::Clock::time_point;
using Seconds = std::chrono::duration<double>;

constexpr double kLaunchSeconds = 0.0001;
constexpr double kFixedSeconds = 0.001;
constexpr double kTokenSeconds = 0.0001;
constexpr double kTargetSeconds = 0.018;

// A device with a clock of its own. A step with rows of logits is waited for, another is not.
class TimedRunner : public ModelRunner {
 public:
  explicit TimedRunner(FakeRunner& runner) : runner_(&runner) {}

  bool runs_ahead() const override { return true; }
  void run(const Batch& batch, std::span<const SamplingRow> rows,
           std::span<SampledToken> sampled) override {
    const auto tokens = static_cast<double>(batch.input_ids.size());
    now += to_ticks(kLaunchSeconds);
    done_ = std::max(done_, now) + to_ticks(kFixedSeconds + kTokenSeconds * tokens);
    runner_->run(batch, rows, sampled);
    if (!rows.empty()) now = done_;
  }

  Time now;

 private:
  static Time::duration to_ticks(double seconds) {
    return std::chrono::duration_cast<Time::duration>(Seconds(seconds));
  }

  FakeRunner* runner_;
  Time done_;
};

TEST(StepTimes, PiecesThatNothingWaitsForSayNothing) {
  const FakeLimits limits = {.num_blocks = 1024};
  FakeRunner fake(limits.num_blocks, static_cast<int32_t>(limits.max_num_seqs), kFakeVocab);
  TimedRunner runner(fake);
  CoreOptions options = FakeEngine::core_options(limits);
  options.inter_token_target_seconds = kTargetSeconds;
  options.clock = [&runner] { return runner.now; };
  EngineCore core(options, runner);
  for (RequestId id = 1; id <= 5; ++id) {  // alone: seven pieces that are not waited for, and one
    core.add(id, make_request(2000, 1));
    while (core.has_work()) core.step();
  }
  core.add(6, make_request(64, 400));
  core.step();
  core.add(7, make_request(6000, 1));
  std::vector<double> steps;  // seconds, of those with both
  while (core.stats().prompt_tokens < 5 * 2000 + 64 + 6000) {
    const Time begin = runner.now;
    core.step();
    steps.push_back(Seconds(runner.now - begin).count());
  }
  // 128 tokens beside the stream's one; with another chunk the target would be passed.
  const double longest = kLaunchSeconds + kFixedSeconds + 129 * kTokenSeconds;
  // Of the first two nothing, or one step, was known; the last piece is what is left.
  for (size_t i = 2; i + 1 < steps.size(); ++i) EXPECT_NEAR(steps[i], longest, 1e-6) << i;
  EXPECT_EQ(steps.size(), 47U);
}

}  // namespace
}  // namespace deltaserve
