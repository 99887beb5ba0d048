// Whether two runs gave the same, logprobs to the bit.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "recorder.h"

namespace deltaserve {

inline void expect_same_bits(const TokenLogprob& got, const TokenLogprob& wanted) {
  ASSERT_EQ(got.token, wanted.token);
  ASSERT_EQ(std::memcmp(&got.logprob, &wanted.logprob, sizeof(float)), 0);
  ASSERT_EQ(got.top.size(), wanted.top.size());
  for (size_t k = 0; k < got.top.size(); ++k) {
    ASSERT_EQ(got.top[k].token, wanted.top[k].token);
    ASSERT_EQ(std::memcmp(&got.top[k].logprob, &wanted.top[k].logprob, sizeof(float)), 0);
  }
}

// Of an aborted choice what there is.
inline void expect_same_bits(const ChoiceRecord& got, const ChoiceRecord& wanted) {
  const size_t count = got.tokens.size();
  ASSERT_LE(count, wanted.tokens.size());
  ASSERT_TRUE(got.reason == FinishReason::kAbort || count == wanted.tokens.size());
  ASSERT_EQ(got.logprobs.size(), count);
  for (size_t i = 0; i < count; ++i) {
    SCOPED_TRACE(testing::Message() << "output token " << i);
    ASSERT_EQ(got.tokens[i], wanted.tokens[i]);
    expect_same_bits(got.logprobs[i], wanted.logprobs[i]);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace deltaserve
