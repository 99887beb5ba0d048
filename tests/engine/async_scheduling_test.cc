// Steps launched ahead: what a client sees, what is launched when, and what keeps a step from it.
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "fake_engine.h"

namespace deltaserve {
namespace {

constexpr FakeLimits kAhead = {.async = true};

// The text of a request without async scheduling.
std::vector<int32_t> text_of(const Request& request) {
  return run_alone(request).choices.at(0).tokens;
}

// A request that ends with its `length`th token or before, by a stop token.
Request stopping_request(int64_t prompt_len, size_t length, uint64_t seed) {
  Request request = make_request(prompt_len, 100, seed);
  request.eos_token_ids = {text_of(request).at(length - 1)};
  return request;
}

TEST(AsyncScheduling, LaunchesAStepBeforeTheOneBeforeHasEnded) {
  FakeEngine engine(kAhead);
  engine.core.add(1, make_request(20, 6));
  engine.step();
  EXPECT_EQ(engine.async.num_launched, 2) << "the prompt and the first decode";
  EXPECT_EQ(engine.async.num_finished, 1);
  EXPECT_EQ(engine.recorder.records.at(1).choices.at(0).tokens.size(), 1U);
  engine.step();
  EXPECT_EQ(engine.async.num_launched, 3);
  EXPECT_EQ(engine.async.num_finished, 2);
  engine.run();
  EXPECT_EQ(engine.recorder.records.at(1).choices.at(0).tokens, text_of(make_request(20, 6)));
  EXPECT_EQ(engine.async.num_launched, 6) << "the end at max_tokens is known beforehand";
  EXPECT_EQ(engine.async.num_finished, 6);
  EXPECT_EQ(engine.core.stats().num_steps, 6);
  EXPECT_EQ(engine.core.stats().num_steps_ahead, 5);
}

TEST(AsyncScheduling, ThrowsAwayWhatIsComputedBehindAStopToken) {
  const Request request = stopping_request(20, 8, 1);
  const std::vector<int32_t> text = text_of(request);
  FakeEngine engine(kAhead);
  engine.core.add(1, request);
  while (!engine.recorder.records[1].finished) engine.step();
  const ChoiceRecord& choice = engine.recorder.records.at(1).choices.at(0);
  EXPECT_EQ(choice.tokens, text);
  EXPECT_EQ(choice.reason, FinishReason::kStop);
  EXPECT_EQ(engine.core.snapshot().num_free_blocks, 64);
  EXPECT_EQ(engine.async.num_launched, engine.async.num_finished + 1);
  EXPECT_EQ(engine.core.stats().generation_tokens, static_cast<int64_t>(text.size()));
  // Another takes over blocks and slot while the step behind the end still runs.
  engine.core.add(2, make_request(40, 20, 2));
  engine.run();
  EXPECT_EQ(engine.recorder.records.at(2).choices.at(0).tokens, text_of(make_request(40, 20, 2)));
  EXPECT_EQ(engine.async.num_launched, engine.async.num_finished);
  EXPECT_EQ(engine.core.stats().generation_tokens, static_cast<int64_t>(text.size()) + 20);
}

TEST(AsyncScheduling, AnAbortFreesAtOnceWhileAStepRuns) {
  FakeEngine engine(kAhead);
  engine.core.add(1, make_request(20, 50, 1));
  engine.core.add(2, make_request(30, 30, 2));
  for (int i = 0; i < 5; ++i) engine.step();
  const int32_t num_free = engine.core.snapshot().num_free_blocks;
  engine.core.abort(1);
  engine.core.abort(1);
  EXPECT_GT(engine.core.snapshot().num_free_blocks, num_free);
  EXPECT_EQ(find_violation(engine.core.snapshot()), std::nullopt);
  engine.core.add(3, make_request(30, 30, 3));
  engine.run();
  EXPECT_EQ(engine.recorder.records.at(1).choices.at(0).reason, FinishReason::kAbort);
  for (const uint64_t id : {2U, 3U}) {
    EXPECT_EQ(engine.recorder.records.at(id).choices.at(0).tokens,
              text_of(make_request(30, 30, id)));
  }
  EXPECT_TRUE(engine.core.snapshot().sequences.empty());
}

TEST(AsyncScheduling, WorkIsLeftUntilEveryStepHasEnded) {
  FakeEngine engine(kAhead);
  engine.core.add(1, make_request(20, 50));
  engine.step();
  engine.core.abort_all();
  EXPECT_TRUE(engine.core.has_work());
  engine.step();
  EXPECT_FALSE(engine.core.has_work());
  EXPECT_EQ(engine.async.num_launched, engine.async.num_finished);
}

TEST(AsyncScheduling, WaitsForTokensThatTheNextDrawDependsOn) {
  Request thought = make_request(20, 8);
  thought.sampling.thinking_budget = ThinkingBudget{
      .num_tokens = 3, .open = true, .open_token = 4, .close_token = 5, .closing = {5}};
  FakeEngine engine(kAhead);
  engine.core.add(1, thought);
  engine.run();
  EXPECT_EQ(engine.recorder.records.at(1).choices.at(0).tokens, text_of(thought));
  EXPECT_EQ(engine.core.stats().num_steps_ahead, 0);
}

TEST(AsyncScheduling, CountsTokensForPenaltiesThatAreNotKnownYet) {
  Request request = make_request(20, 60);
  request.sampling.presence_penalty = 0.5F;
  FakeEngine engine(kAhead);
  engine.core.add(1, request);
  engine.run();
  EXPECT_EQ(engine.recorder.records.at(1).choices.at(0).tokens, text_of(request));
  EXPECT_EQ(engine.core.stats().num_steps_ahead, 59);
}

TEST(AsyncScheduling, AdmitsArrivalsAtTheNextStep) {
  FakeEngine engine(kAhead);
  engine.core.add(1, make_request(20, 50, 1));
  for (int i = 0; i < 3; ++i) engine.step();
  engine.core.add(2, make_request(20, 50, 2));
  engine.step();  // of the step that ran when it came
  EXPECT_FALSE(engine.recorder.records.contains(2));
  engine.step();
  EXPECT_EQ(engine.recorder.records.at(2).choices.at(0).tokens.size(), 1U);
}

// All slots are taken: those that wait do not keep steps from being launched ahead.
TEST(AsyncScheduling, GoesOnWhileOthersWaitForASlot) {
  FakeLimits limits = kAhead;
  limits.max_num_seqs = 2;
  FakeEngine engine(limits);
  for (uint64_t id = 1; id <= 6; ++id) engine.core.add(id, make_request(20, 20, id));
  engine.run();
  for (uint64_t id = 1; id <= 6; ++id) {
    EXPECT_EQ(engine.recorder.records.at(id).choices.at(0).tokens,
              text_of(make_request(20, 20, id)));
  }
  EXPECT_GT(engine.core.stats().num_steps_ahead, 3 * 17);
}

TEST(AsyncScheduling, AFailedLaunchEndsItsOwnStepOnly) {
  FakeEngine engine(kAhead);
  engine.core.add(1, make_request(20, 4, 1));
  engine.core.add(2, make_request(20, 30, 2));
  for (int i = 0; i < 2; ++i) engine.step();
  engine.async.fails_to_launch = true;
  engine.step();
  // The step that ran gave a token each, then the next one failed.
  const ChoiceRecord& failed = engine.recorder.records.at(2).choices.at(0);
  EXPECT_EQ(failed.reason, FinishReason::kError);
  EXPECT_EQ(failed.tokens.size(), 3U);
  engine.core.add(3, make_request(20, 30, 3));
  engine.run();
  EXPECT_EQ(engine.recorder.records.at(3).choices.at(0).tokens, text_of(make_request(20, 30, 3)));
  EXPECT_EQ(engine.core.snapshot().num_free_blocks, 64);
}

TEST(AsyncScheduling, AFailedStepTakesTheOneBehindItAlong) {
  FakeEngine engine(kAhead);
  bool fails = false;
  engine.runner.on_sequence = [&fails](const Batch&, int32_t) {
    if (std::exchange(fails, false)) throw std::runtime_error("injected");
  };
  engine.core.add(1, make_request(20, 30, 1));
  engine.core.add(2, make_request(20, 30, 2));
  for (int i = 0; i < 3; ++i) engine.step();
  fails = true;
  engine.step();
  for (const uint64_t id : {1U, 2U}) {
    EXPECT_EQ(engine.recorder.records.at(id).choices.at(0).reason, FinishReason::kError);
  }
  EXPECT_EQ(engine.core.snapshot().num_free_blocks, 64);
  engine.core.add(3, make_request(20, 30, 3));
  engine.run();
  EXPECT_EQ(engine.recorder.records.at(3).choices.at(0).tokens, text_of(make_request(20, 30, 3)));
}

TEST(AsyncScheduling, IsOffWhereTheRunnerDoesNotRunAhead) {
  CoreOptions options = FakeEngine::core_options(kAhead);
  FakeRunner runner(64, 4, kFakeVocab);
  EngineCore core(options, runner);
  core.add(1, make_request(20, 8));
  while (core.has_work()) core.step();
  EXPECT_EQ(core.stats().num_steps_ahead, 0);
  EXPECT_EQ(core.stats().generation_tokens, 8);
}

// The device as a thread of its own, so that a race shows under ThreadSanitizer: requests of all
// kinds come, end and are aborted at random times, over pools that are small enough for preemption
// and eviction; every text is that of a run alone.
class AsyncOnThread : public testing::TestWithParam<uint64_t> {};

TEST_P(AsyncOnThread, EveryTextIsThatOfARunAlone) {
  std::mt19937_64 random(GetParam());
  const auto between = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  FakeEngine engine({.num_blocks = 26,
                     .max_num_seqs = 5,
                     .max_num_batched_tokens = 140,
                     .num_snapshots = 4,
                     .reuse_answers = false,  // a text is that of a run without a cache
                     .snapshot_interval = 1,
                     .swap_space_bytes = 4000,
                     .async = true,
                     .on_thread = true});
  std::map<RequestId, Request> requests;
  RequestId next = 1;
  for (int i = 0; i < 400 || engine.core.has_work(); ++i) {
    ASSERT_LT(i, 20000);
    if (i < 400 && engine.core.num_waiting() < 3 && between(0, 2) == 0) {
      Request request = make_request(between(1, 150), between(1, 120), GetParam());
      request.sampling.seed = random();
      request.sampling.temperature = between(0, 1) == 0 ? 0.0F : 1.0F;
      request.sampling.num_logprobs = between(0, 3) == 0 ? 2 : -1;
      request.sampling.min_tokens = between(0, 3) == 0 ? between(0, 20) : 0;
      request.eos_token_ids = {7};
      request.sampling.ignore_eos = between(0, 1) == 0;
      requests[next] = request;
      engine.core.add(next++, request);
    }
    if (!requests.empty() && between(0, 60) == 0) engine.core.abort(next - 1);
    if (engine.core.has_work()) engine.step();
  }
  for (const auto& [id, request] : requests) {
    const std::vector<int32_t> text = text_of(request);
    const ChoiceRecord& choice = engine.recorder.records.at(id).choices.at(0);
    if (choice.reason == FinishReason::kAbort) {
      ASSERT_LE(choice.tokens.size(), text.size());
      EXPECT_TRUE(std::equal(choice.tokens.begin(), choice.tokens.end(), text.begin()));
    } else {
      EXPECT_EQ(choice.tokens, text) << "request " << id;
    }
  }
  EXPECT_GT(engine.core.stats().num_steps_ahead, engine.core.stats().num_steps / 4);
  EXPECT_GT(engine.core.stats().num_preemptions, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AsyncOnThread, testing::Range<uint64_t>(1, 5));

}  // namespace
}  // namespace deltaserve
