// Thinking budgets: which tokens are forced, and that they come the same alone, beside others and
// after a preemption.
#include "engine/thinking_limit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/request_check.h"
#include "engine/sampler_state.h"
#include "fake_engine.h"

namespace deltaserve {
namespace {

constexpr int32_t kOpen = 40;
constexpr int32_t kClose = 41;

ThinkingBudget budget(int64_t num_tokens, bool open = true) {
  return {.num_tokens = num_tokens,
          .open = open,
          .open_token = kOpen,
          .close_token = kClose,
          .closing = {9, kClose, 9}};
}

// The one token that the mask lets through; -1 unless there is exactly one.
int32_t only_allowed(const uint64_t* mask, int32_t vocab_size) {
  int32_t found = -1;
  for (int32_t token = 0; token < vocab_size; ++token) {
    if ((mask[token / 64] >> (token % 64) & 1U) == 0) continue;
    if (found >= 0) return -1;
    found = token;
  }
  return found;
}

// Plays `tokens` where they may be drawn; returns all that come.
std::vector<int32_t> play(const ThinkingBudget& limited, const std::vector<int32_t>& tokens) {
  ThinkingLimit limit(limited, 50);
  std::vector<int32_t> out;
  for (size_t drawn = 0; drawn < tokens.size();) {
    const int32_t token = limit.forces() ? only_allowed(limit.only_forced(), 50) : tokens[drawn++];
    out.push_back(token);
    limit.record(token);
  }
  return out;
}

using Tokens = std::vector<int32_t>;

TEST(ThinkingLimit, ClosesTheThoughtOnceItIsSpent) {
  EXPECT_EQ(play(budget(2), {1, 2, 3, 4}), (Tokens{1, 2, 9, kClose, 9, 3, 4}));
  EXPECT_EQ(play(budget(0), {1, 2}), (Tokens{9, kClose, 9, 1, 2}));
}

TEST(ThinkingLimit, LeavesAThoughtAloneThatClosesByItself) {
  EXPECT_EQ(play(budget(5), {1, 2, kClose, 3, 4, 5, 6, 7}), (Tokens{1, 2, kClose, 3, 4, 5, 6, 7}));
  EXPECT_EQ(play(budget(2), {1, kClose, 3, 4}), (Tokens{1, kClose, 3, 4})) << "at the border";
}

TEST(ThinkingLimit, LimitsAThoughtThatTheModelOpens) {
  EXPECT_EQ(play(budget(1, false), {kOpen, 1, 2}), (Tokens{kOpen, 1, 9, kClose, 9, 2}));
  EXPECT_EQ(play(budget(0, false), {kOpen, 1}), (Tokens{kOpen, 9, kClose, 9, 1}));
  EXPECT_EQ(play(budget(1, false), {1, kOpen, 2, 3}), (Tokens{1, kOpen, 2, 3}))
      << "text behind the beginning is no thought";
}

TEST(ThinkingLimit, AForcedTokenComesWhateverIsBanned) {
  Request request = make_request(3, 20);
  request.sampling.thinking_budget = budget(1);
  request.sampling.banned_token_ids = {9, 11, 5000};
  request.sampling.stop_token_ids = {kClose};
  request.sampling.min_tokens = 20;
  SamplerState state(request, 0, kFakeVocab);
  EXPECT_EQ(state.next_row().num_banned, 3) << "the one outside the vocabulary is left out";
  EXPECT_EQ(state.next_row().allowed, nullptr);
  state.record(1);
  EXPECT_EQ(state.next_row().num_banned, 0);
  EXPECT_EQ(only_allowed(state.next_row().allowed, kFakeVocab), 9);
  for (const int32_t token : {9, kClose, 9}) state.record(token);
  EXPECT_EQ(state.next_row().allowed, nullptr);
  EXPECT_EQ(state.next_row().num_banned, 3);
}

TEST(ThinkingLimit, BannedTokensNeverCome) {
  Request request = make_request(20, 60);
  for (int32_t token = 5; token < kFakeVocab; ++token) {
    request.sampling.banned_token_ids.push_back(token);
  }
  const RequestRecord record = run_alone(request);
  EXPECT_EQ(record.choices.at(0).tokens.size(), 60U);
  for (const int32_t token : record.choices.at(0).tokens) EXPECT_LT(token, 5);
}

TEST(ThinkingLimit, BadBudgetsAreRefused) {
  const RequestLimits limits{.max_model_len = 100, .vocab_size = 50, .max_choices = 8};
  ThinkingBudget negative = budget(-1);
  ThinkingBudget never_closing = budget(1);
  never_closing.closing = {9};
  ThinkingBudget outside = budget(1);
  outside.closing.push_back(50);
  for (const ThinkingBudget& bad : {negative, never_closing, outside}) {
    Request request = make_request(3, 20);
    request.sampling.thinking_budget = bad;
    const Result<void> result = check_request(request, limits);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().param, "thinking_token_budget");
  }
}

// Requests with budgets that outgrow the pool together: some are preempted in the middle of what is
// forced.
TEST(ThinkingLimit, TogetherAsAloneAndAfterPreemption) {
  std::vector<Request> requests;
  for (int64_t i = 0; i < 6; ++i) {
    Request request = make_request(10 + i, 60, static_cast<uint64_t>(i));
    request.sampling.n = i == 0 ? 3 : 1;
    request.sampling.num_logprobs = 1;
    request.sampling.thinking_budget = budget(4 * i);
    requests.push_back(request);
  }
  FakeEngine engine({.num_blocks = 14, .max_num_seqs = 8});
  for (size_t i = 0; i < requests.size(); ++i) engine.core.add(i, requests[i]);
  engine.run();
  EXPECT_GT(engine.core.stats().num_preemptions, 0);
  for (size_t i = 0; i < requests.size(); ++i) {
    const RequestRecord alone = run_alone(requests[i]);
    for (const auto& [index, choice] : engine.recorder.records.at(i).choices) {
      EXPECT_EQ(choice.tokens, alone.choices.at(index).tokens);
      EXPECT_EQ(choice.tokens.size(), 60U);
      EXPECT_EQ(choice.logprobs.size(), 60U) << "forced tokens have entries too";
      const auto close = std::ranges::find(choice.tokens, kClose);
      ASSERT_NE(close, choice.tokens.end());
      EXPECT_LE(close - choice.tokens.begin(), static_cast<std::ptrdiff_t>(4 * i + 1));
    }
  }
}

}  // namespace
}  // namespace deltaserve
