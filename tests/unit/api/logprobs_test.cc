// Log probabilities: they add up to the text and come with the text that they belong to.
#include <gtest/gtest.h>

#include "session_fixture.h"

namespace deltaserve {
namespace {

using LogprobsTest = SessionTest;

TEST_F(LogprobsTest, LogprobsAddUpToTheText) {
  const std::vector<int32_t> ids = with_eos("Grüße 🎉 beta!");
  const Answer answer = run_chat(R"("logprobs":true,"top_logprobs":2,"stop":"beta gamma")",
                                 steps(ids, FinishReason::kStop));
  const json::Array& whole =
      answer.body.at("choices").at(0).at("logprobs").at("content").get_array();
  EXPECT_EQ(whole.size(), ids.size());
  std::string bytes;
  json::Array streamed;
  size_t shown = 0;
  std::string text;
  for (const json::Object& chunk : answer.chunks) {
    const json::Value& choice = chunk.at("choices").at(0);
    if (const json::Value* content = choice.at("delta").get_object().if_contains("content")) {
      text += content->get_string().c_str();
    }
    if (choice.at("logprobs").is_null()) {
      continue;
    }
    for (const json::Value& entry : choice.at("logprobs").at("content").get_array()) {
      streamed.push_back(entry);
      shown += entry.at("bytes").get_array().size();
    }
    EXPECT_LE(shown, text.size());
  }
  EXPECT_EQ(streamed, whole);
  for (const json::Value& entry : whole) {
    EXPECT_LE(entry.at("logprob").to_number<double>(), 0.0);
    EXPECT_EQ(entry.at("top_logprobs").get_array().size(), 2U);
    for (const json::Value& byte : entry.at("bytes").get_array()) {
      bytes.push_back(static_cast<char>(byte.to_number<int>()));
    }
  }
  EXPECT_EQ(bytes, "Grüße 🎉 beta!");
}

TEST_F(LogprobsTest, LogprobsBehindAStopStringAreDropped) {
  const std::vector<int32_t> ids = encode("alpha beta gamma");
  const Answer answer =
      run_chat(R"("logprobs":true,"stop":"beta")", steps(ids, FinishReason::kLength));
  std::string bytes;
  for (const json::Value& entry :
       answer.body.at("choices").at(0).at("logprobs").at("content").get_array()) {
    for (const json::Value& byte : entry.at("bytes").get_array()) {
      bytes.push_back(static_cast<char>(byte.to_number<int>()));
    }
  }
  EXPECT_TRUE(bytes.starts_with(whole_text(answer))) << bytes;
  EXPECT_EQ(bytes.find("gamma"), std::string::npos);
}

TEST_F(LogprobsTest, CompletionsHaveTextOffsetsAndEcho) {
  const auto prepared =
      service_.completion(R"({"prompt":"Grüße","echo":true,"logprobs":1,"max_tokens":9})");
  ASSERT_TRUE(prepared);
  const std::vector<int32_t> prompt = prepared->job.requests[0].prompt_token_ids;
  auto outputs = steps(encode(" you"), FinishReason::kLength);
  for (size_t i = 0; i < prompt.size(); ++i) {
    outputs[0].prompt_logprobs.push_back(
        i == 0 ? std::nullopt
               : std::optional<TokenLogprob>({prompt[i], -2.0F, {{prompt[i], -2.0F}}}));
  }
  const Answer answer = run(*prepared, outputs);
  EXPECT_EQ(streamed_text(answer), "Grüße you");
  EXPECT_EQ(whole_text(answer), "Grüße you");
  const json::Value& logprobs = answer.body.at("choices").at(0).at("logprobs");
  const json::Array& tokens = logprobs.at("tokens").get_array();
  EXPECT_EQ(tokens.size(), prompt.size() + outputs.size());
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_EQ(logprobs.at("text_offset").at(0), 0);
  EXPECT_EQ(logprobs.at("text_offset").at(prompt.size()), 5);  // characters, not bytes
  EXPECT_EQ(answer.body.at("object"), "text_completion");
}

}  // namespace
}  // namespace deltaserve
