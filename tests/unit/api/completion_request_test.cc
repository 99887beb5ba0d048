// The prompt forms of /v1/completions, /tokenize, /detokenize and the model list.
#include <gtest/gtest.h>

#include "api_fixture.h"

namespace deltaserve {
namespace {

using CompletionRequestTest = ApiTest;

TEST_F(CompletionRequestTest, TakesFourFormsOfPrompt) {
  const std::vector<int32_t> ids = context_->tokenizer->encode("hi there");
  const auto text = service_.completion(R"({"prompt":"hi there"})");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->job.requests[0].prompt_token_ids, ids);
  const auto texts = service_.completion(R"({"prompt":["hi there","x"]})");
  ASSERT_TRUE(texts);
  ASSERT_EQ(texts->job.requests.size(), 2U);
  EXPECT_EQ(texts->job.requests[0].prompt_token_ids, ids);
  const auto tokens = service_.completion(R"({"prompt":[1,2,3]})");
  ASSERT_TRUE(tokens);
  ASSERT_EQ(tokens->job.requests.size(), 1U);
  EXPECT_EQ(tokens->job.requests[0].prompt_token_ids, (std::vector<int32_t>{1, 2, 3}));
  const auto lists = service_.completion(R"({"prompt":[[1,2],[3]]})");
  ASSERT_TRUE(lists);
  EXPECT_EQ(lists->job.requests[1].prompt_token_ids, std::vector<int32_t>{3});
}

TEST_F(CompletionRequestTest, SpecialTokensOfARawPromptAreControlTokens) {
  const auto prepared = service_.completion(R"({"prompt":"<|im_start|>user"})");
  ASSERT_TRUE(prepared);
  EXPECT_EQ(prepared->job.requests[0].prompt_token_ids.front(), 4001);
}

TEST_F(CompletionRequestTest, RefusesBadPromptsAndFields) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "prompt"},
      {R"({"prompt":null})", "prompt"},
      {R"({"prompt":""})", "prompt"},
      {R"({"prompt":[]})", "prompt"},
      {R"({"prompt":[[]]})", "prompt[0]"},
      {R"({"prompt":["a",1]})", "prompt[1]"},
      {R"({"prompt":[1,"a"]})", "prompt"},
      {R"({"prompt":[-1]})", "prompt"},
      {R"({"prompt":[4033000]})", "prompt"},
      {R"({"prompt":[1.5]})", "prompt"},
      {R"({"prompt":{"a":1}})", "prompt"},
      {R"({"prompt":"a","suffix":"b"})", "suffix"},
      {R"({"prompt":"a","best_of":2})", "best_of"},
      {R"({"prompt":"a","logprobs":21})", "logprobs"},
      {R"({"prompt":"a","logprobs":-1})", "logprobs"},
      {R"({"prompt":"a","echo":"x"})", "echo"},
      {R"({"prompt":"a","response_format":{"type":"json_schema"}})", "response_format.json_schema"},
      {R"({"prompt":"a","max_tokens":1001})", "max_tokens"},
  };
  for (const auto& [body, param] : cases) {
    EXPECT_EQ(completion_error(body).param, param) << body;
  }
  EXPECT_TRUE(service_.completion(R"({"prompt":"a","best_of":2,"n":2,"suffix":null})"));
}

// 429 would ask to try again what can never be taken.
TEST_F(CompletionRequestTest, RefusesMoreChoicesThanTheQueueHolds) {
  context_->limits.max_prompts = 6;
  EXPECT_TRUE(service_.completion(R"({"prompt":["a","b"],"n":3})"));
  EXPECT_EQ(completion_error(R"({"prompt":["a","b"],"n":4})").param, "n");
  EXPECT_EQ(completion_error(R"({"prompt":["a","b","c","d","e","f","g"]})").param, "prompt");
}

TEST_F(CompletionRequestTest, APromptThatFillsTheContextIsNamed) {
  context_->max_model_len = 3;
  const Error error = completion_error(R"({"prompt":[1,2,3]})");
  EXPECT_EQ(error.api_code, "context_length_exceeded");
  EXPECT_EQ(error.param, "prompt");
}

TEST_F(CompletionRequestTest, DefaultsToSixteenTokensAndEchoAsksForPromptLogprobs) {
  const auto plain = service_.completion(R"({"prompt":"hi","logprobs":2})");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->job.requests[0].sampling.max_tokens, 16);
  EXPECT_EQ(plain->job.requests[0].sampling.num_logprobs, 2);
  EXPECT_EQ(plain->job.requests[0].prompt_logprobs, -1);
  const auto echo = service_.completion(R"({"prompt":"hi","logprobs":2,"echo":true})");
  ASSERT_TRUE(echo);
  EXPECT_EQ(echo->job.requests[0].prompt_logprobs, 2);
  EXPECT_EQ(echo->job.prompts[0].echo, "hi");
  EXPECT_TRUE(echo->job.options.id.starts_with("cmpl-"));
}

TEST_F(CompletionRequestTest, TokenizeAndDetokenizeAreInverse) {
  const auto tokens = service_.tokenize(R"({"prompt":"Grüße, 世界!","return_token_strs":true})");
  ASSERT_TRUE(tokens);
  const json::Object answer = object(*tokens);
  const json::Array& ids = answer.at("tokens").get_array();
  EXPECT_EQ(answer.at("count").to_number<size_t>(), ids.size());
  EXPECT_EQ(answer.at("max_model_len"), 1000);
  EXPECT_EQ(answer.at("token_strs").get_array().size(), ids.size());
  const auto text = service_.detokenize(json::serialize(json::Object{{"tokens", ids}}));
  ASSERT_TRUE(text);
  EXPECT_EQ(object(*text).at("prompt"), "Grüße, 世界!");
}

TEST_F(CompletionRequestTest, TokenizeRendersMessages) {
  const auto tokens = service_.tokenize(
      R"({"messages":[{"role":"user","content":"hi"}],"add_generation_prompt":false})");
  ASSERT_TRUE(tokens);
  const auto text = service_.detokenize(*tokens);
  ASSERT_TRUE(text);
  EXPECT_EQ(object(*text).at("prompt"), "<|im_start|>user\nhi<|im_end|>\n");
  EXPECT_TRUE(object(*tokens).at("token_strs").is_null());
}

TEST_F(CompletionRequestTest, TokenizeAndDetokenizeRefuseBadBodies) {
  EXPECT_EQ(service_.tokenize("{}").error().param, "prompt");
  EXPECT_EQ(service_.tokenize(R"({"prompt":7})").error().param, "prompt");
  EXPECT_EQ(service_.detokenize("{}").error().param, "tokens");
  EXPECT_EQ(service_.detokenize(R"({"tokens":[-1]})").error().param, "tokens");
  EXPECT_EQ(service_.detokenize(R"({"tokens":[99999999999]})").error().param, "tokens");
}

TEST_F(CompletionRequestTest, ListsModels) {
  const json::Object list = object(*service_.models());
  EXPECT_EQ(list.at("object"), "list");
  ASSERT_EQ(list.at("data").get_array().size(), 2U);
  EXPECT_EQ(list.at("data").at(0).at("id"), "tiny");
  EXPECT_EQ(list.at("data").at(0).at("max_model_len"), 1000);
  EXPECT_EQ(object(*service_.model("alias")).at("id"), "alias");
  EXPECT_EQ(service_.model("nope").error().api_code, "model_not_found");
  EXPECT_EQ(object(service_.version()).at("version"), "1.2.3");
}

}  // namespace
}  // namespace deltaserve
