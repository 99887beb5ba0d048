// What a row of the sampler is told after each token.
#include "engine/sampler_state.h"

#include <gtest/gtest.h>

#include <map>

namespace deltaserve {
namespace {

Request base_request() {
  Request request;
  request.prompt_token_ids = {5, 6, 5};
  request.sampling.max_tokens = 3;
  request.sampling.seed = 100;
  request.eos_token_ids = {1, 2};
  return request;
}

std::map<int32_t, int32_t> counts_of(const SamplingRow& row) {
  std::map<int32_t, int32_t> counts;
  for (int32_t i = 0; i < row.num_counts; ++i) {
    EXPECT_TRUE(counts.emplace(row.counts[i].token, row.counts[i].in_output).second);
  }
  return counts;
}

using Counts = std::map<int32_t, int32_t>;

TEST(SamplerState, CountsPromptAndOutputForRepetition) {
  Request request = base_request();
  request.sampling.repetition_penalty = 1.1F;
  SamplerState state(request, 0, 50);
  EXPECT_EQ(counts_of(state.next_row()), (Counts{{5, 0}, {6, 0}}));
  state.record(6);
  state.record(9);
  state.record(6);
  EXPECT_EQ(counts_of(state.next_row()), (Counts{{5, 0}, {6, 2}, {9, 1}}));
}

TEST(SamplerState, CountsOnlyOutputForTheOtherPenalties) {
  Request request = base_request();
  request.sampling.presence_penalty = 0.5F;
  SamplerState state(request, 0, 50);
  EXPECT_EQ(state.next_row().num_counts, 0);
  state.record(5);
  EXPECT_EQ(counts_of(state.next_row()), (Counts{{5, 1}}));
}

TEST(SamplerState, CountsNothingWithoutPenalties) {
  const Request request = base_request();
  SamplerState state(request, 0, 50);
  state.record(5);
  EXPECT_EQ(state.next_row().num_counts, 0);
}

TEST(SamplerState, SeedAndPositionAreTheChoicesOwn) {
  const Request request = base_request();
  SamplerState state(request, 2, 50);
  EXPECT_EQ(state.next_row().seed, 102U);
  EXPECT_EQ(state.next_row().position, 0);
  state.record(4);
  EXPECT_EQ(state.next_row().position, 1);
}

TEST(SamplerState, BansStopTokensUntilMinTokens) {
  Request request = base_request();
  request.sampling.min_tokens = 2;
  request.sampling.stop_token_ids = {7, 70};  // 70 is not in the vocabulary
  SamplerState state(request, 0, 50);
  const SamplingRow row = state.next_row();
  EXPECT_EQ(std::vector<int32_t>(row.banned, row.banned + row.num_banned),
            (std::vector<int32_t>{1, 2, 7}));
  state.record(9);
  EXPECT_EQ(state.next_row().num_banned, 3);
  state.record(9);
  EXPECT_EQ(state.next_row().num_banned, 0);
}

TEST(SamplerState, IgnoreEosBansStopTokenIdsOnly) {
  Request request = base_request();
  request.sampling.min_tokens = 1;
  request.sampling.ignore_eos = true;
  request.sampling.stop_token_ids = {7};
  SamplerState state(request, 0, 50);
  ASSERT_EQ(state.next_row().num_banned, 1);
  EXPECT_EQ(state.next_row().banned[0], 7);
  EXPECT_EQ(state.finish_after(1), std::nullopt);
  EXPECT_EQ(state.finish_after(7), FinishReason::kStop);
}

TEST(SamplerState, StopsBeforeItRunsOutOfLength) {
  const Request request = base_request();
  SamplerState state(request, 0, 50);
  state.record(9);
  EXPECT_EQ(state.finish_after(9), std::nullopt);
  state.record(9);
  state.record(9);
  EXPECT_EQ(state.finish_after(9), FinishReason::kLength);
  EXPECT_EQ(state.finish_after(2), FinishReason::kStop);
}

TEST(SamplerState, PassesEveryParameterOn) {
  Request request = base_request();
  SamplingParams& sampling = request.sampling;
  sampling.temperature = 0.7F;
  sampling.top_p = 0.8F;
  sampling.top_k = 20;
  sampling.min_p = 0.05F;
  sampling.repetition_penalty = 1.2F;
  sampling.frequency_penalty = 0.3F;
  sampling.presence_penalty = 0.4F;
  sampling.logit_bias = {{.token = 3, .bias = -2.0F}};
  sampling.num_logprobs = 4;
  const SamplerState state(request, 0, 50);
  const SamplingRow row = state.next_row();
  EXPECT_EQ(row.temperature, 0.7F);
  EXPECT_EQ(row.top_p, 0.8F);
  EXPECT_EQ(row.top_k, 20);
  EXPECT_EQ(row.min_p, 0.05F);
  EXPECT_EQ(row.repetition_penalty, 1.2F);
  EXPECT_EQ(row.frequency_penalty, 0.3F);
  EXPECT_EQ(row.presence_penalty, 0.4F);
  ASSERT_EQ(row.num_logit_bias, 1);
  EXPECT_EQ(row.logit_bias[0].token, 3);
  EXPECT_EQ(row.num_logprobs, 4);
}

}  // namespace
}  // namespace deltaserve
