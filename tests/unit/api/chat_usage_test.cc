// Token counts and log probabilities of answers that are parsed.
#include <gtest/gtest.h>

#include "session_fixture.h"

namespace deltaserve {
namespace {

using ChatUsageTest = SessionTest;

constexpr std::string_view kTools = R"("tools":[{"type":"function","function":{"name":"now"}}])";
constexpr std::string_view kCall = "<tool_call>\n<function=now>\n</function>\n</tool_call>";

json::Object usage_of(const Answer& answer) {
  return answer.body.at("usage").as_object();
}

int64_t reasoning_tokens(const Answer& answer) {
  return usage_of(answer).at("completion_tokens_details").at("reasoning_tokens").as_int64();
}

TEST_F(ChatUsageTest, CountsTheThoughtWithoutItsTags) {
  const std::string thought = "one and two\n";
  const std::vector<int32_t> ids = with_eos(thought + "</think>\n\nthree");
  const Answer answer =
      run_chat(R"("enable_thinking":true,"stream":true,"stream_options":{"include_usage":true})",
               steps(ids, FinishReason::kStop));
  EXPECT_EQ(reasoning_tokens(answer), encode(thought).size());
  EXPECT_EQ(usage_of(answer).at("completion_tokens"), ids.size());
  EXPECT_EQ(answer.chunks.back().at("usage"), answer.body.at("usage"));
}

TEST_F(ChatUsageTest, CountsNoThoughtWhereThereIsNone) {
  const Answer off = run_chat("", steps(with_eos("three"), FinishReason::kStop));
  EXPECT_EQ(reasoning_tokens(off), 0);
  const Answer unclosed =
      run_chat(R"("enable_thinking":true)", steps(with_eos("three"), FinishReason::kStop));
  EXPECT_EQ(reasoning_tokens(unclosed), encode("three").size());
  const Answer own = run_chat(R"("enable_thinking":false)",
                              steps(with_eos("<think>\nhm\n</think>\n\n4"), FinishReason::kStop));
  EXPECT_EQ(reasoning_tokens(own), encode("\nhm\n").size());
}

TEST_F(ChatUsageTest, ACallInAThoughtCountsOnceItIsDecided) {
  const std::string fields = std::string(kTools) + R"(,"enable_thinking":true)";
  const std::string call(kCall);
  const Answer recovered = run_chat(fields, steps(with_eos("so " + call), FinishReason::kStop));
  EXPECT_EQ(reasoning_tokens(recovered), encode("so ").size());
  const Answer quoted =
      run_chat(fields, steps(with_eos("so " + call + " no</think>\n\nok"), FinishReason::kStop));
  EXPECT_EQ(reasoning_tokens(quoted), encode("so " + call + " no").size());
}

TEST_F(ChatUsageTest, TextCompletionsHaveNoThought) {
  const auto prepared = service_.completion(completion(R"("max_tokens":9)"));
  ASSERT_TRUE(prepared);
  const Answer answer = run(*prepared, steps(encode("a</think>b"), FinishReason::kLength));
  EXPECT_EQ(whole_text(answer), "a</think>b");
  EXPECT_EQ(streamed_text(answer), "a</think>b");
  EXPECT_EQ(reasoning_tokens(answer), 0);
}

TEST_F(ChatUsageTest, EveryTokenHasItsLogprob) {
  const std::string fields = std::string(kTools) + R"(,"enable_thinking":true,"logprobs":true)";
  const std::vector<std::string> texts = {
      "one\n\ntwo\n</think>\n\nthree",
      "one</think>\n\nLook. \n" + std::string(kCall),
      "one " + std::string(kCall),
      "Grüße 🎉</think>\n\n日本 🎉",
  };
  for (const std::string& text : texts) {
    const std::vector<int32_t> ids = with_eos(text);
    const StreamedChoice answer = run_choice(fields, steps(ids, FinishReason::kStop));
    ASSERT_EQ(answer.logprobs.size(), ids.size()) << text;
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::vector<int32_t> one = {ids[i]};
      EXPECT_EQ(std::string(answer.logprobs[i].at("token").as_string()),
                context_->tokenizer->decode(one, false));
    }
  }
}

// The bytes of tokens in the answer, without tags and the end token.
TEST_F(ChatUsageTest, BytesOfLogprobsAreTheTextWithoutTags) {
  const StreamedChoice answer =
      run_choice(R"("enable_thinking":true,"logprobs":true)",
                 steps(with_eos("one\n</think>\n\ntwo"), FinishReason::kStop));
  std::string bytes;
  for (const json::Value& entry : answer.logprobs) {
    for (const json::Value& byte : entry.at("bytes").as_array()) {
      bytes.push_back(static_cast<char>(byte.to_number<int>()));
    }
  }
  EXPECT_EQ(bytes, "one\n\n\ntwo");
}

TEST_F(ChatUsageTest, LogprobsComeNoEarlierThanTheirText) {
  const Answer answer = run_chat(
      std::string(kTools) + R"(,"enable_thinking":false,"logprobs":true,"stop":"gamma delta")",
      steps(with_eos("alpha \n beta gamma! gam"), FinishReason::kStop));
  size_t text = 0;
  size_t bytes = 0;
  for (const json::Object& chunk : answer.chunks) {
    const json::Value& choice = chunk.at("choices").at(0);
    if (const json::Value* content = choice.at("delta").as_object().if_contains("content")) {
      text += content->as_string().size();
    }
    if (choice.at("logprobs").is_object()) {
      for (const json::Value& entry : choice.at("logprobs").at("content").as_array()) {
        bytes += entry.at("bytes").as_array().size();
      }
    }
    EXPECT_LE(bytes, text);
  }
  EXPECT_EQ(bytes, text);
  EXPECT_EQ(text, std::string_view("alpha \n beta gamma! gam").size());
}

}  // namespace
}  // namespace deltaserve
