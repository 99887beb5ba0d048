// Types, ranges and defaults of the sampling fields, each refused with the field's name.
#include <gtest/gtest.h>

#include "api_fixture.h"

namespace deltaserve {
namespace {

using SamplingFieldsTest = ApiTest;

struct BadField {
  const char* fields;
  const char* param;
};

TEST_F(SamplingFieldsTest, RefusesWhatIsOutOfRangeOrOfTheWrongType) {
  const BadField cases[] = {
      {R"("temperature":2.0001)", "temperature"},
      {R"("temperature":-0.1)", "temperature"},
      {R"("temperature":"hot")", "temperature"},
      {R"("top_p":1.1)", "top_p"},
      {R"("top_p":-0.1)", "top_p"},
      {R"("top_k":-2)", "top_k"},
      {R"("top_k":1.5)", "top_k"},
      {R"("min_p":1.01)", "min_p"},
      {R"("frequency_penalty":2.1)", "frequency_penalty"},
      {R"("presence_penalty":-2.1)", "presence_penalty"},
      {R"("repetition_penalty":0)", "repetition_penalty"},
      {R"("repetition_penalty":1e300)", "repetition_penalty"},
      {R"("n":0)", "n"},
      {R"("n":129)", "n"},
      {R"("n":1.5)", "n"},
      {R"("seed":"x")", "seed"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_tokens":-1)", "max_tokens"},
      {R"("max_tokens":"10")", "max_tokens"},
      {R"("max_completion_tokens":0)", "max_completion_tokens"},
      {R"("min_tokens":-1)", "min_tokens"},
      {R"("min_tokens":9,"max_tokens":8)", "min_tokens"},
      {R"("ignore_eos":1)", "ignore_eos"},
      {R"("stream":"yes")", "stream"},
      {R"("stream_options":{"include_usage":true})", "stream_options"},
      {R"("stream":true,"stream_options":{"include_usage":1})", "stream_options.include_usage"},
      {R"("logit_bias":{"x":1})", "logit_bias"},
      {R"("logit_bias":{"1":101})", "logit_bias.1"},
      {R"("logit_bias":{"-1":1})", "logit_bias"},
      {R"("logit_bias":{"999999":1})", "logit_bias"},
      {R"("logit_bias":{"1x":1})", "logit_bias"},
      {R"("logit_bias":[1])", "logit_bias"},
      {R"("logit_bias":{"1":1,"01":2})", "logit_bias"},
      {R"("logit_bias":{"-0":1})", "logit_bias"},
      {R"("logit_bias":{"+1":1})", "logit_bias"},
      {R"("stop":"")", "stop"},
      {R"("stop":["a",""])", "stop"},
      {R"("stop":["a","b","c","d","e"])", "stop"},
      {R"("stop":[1])", "stop"},
      {R"("stop":7)", "stop"},
      {R"("stop_token_ids":[99999])", "stop_token_ids"},
      {R"("stop_token_ids":["a"])", "stop_token_ids"},
      {R"("top_logprobs":3)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
      {R"("logprobs":5)", "logprobs"},
      {R"("priority":"x")", "priority"},
      {R"("guided_json":7)", "guided_json"},
      {R"("use_beam_search":true)", "use_beam_search"},
      {R"("chat_template":"x")", "chat_template"},
      {R"("bad_words":["a"])", "bad_words"},
      {R"("allowed_token_ids":[1])", "allowed_token_ids"},
      {R"("truncate_prompt_tokens":9)", "truncate_prompt_tokens"},
      {R"("logits_processors":["x"])", "logits_processors"},
      {R"("prompt_logprobs":1)", "prompt_logprobs"},
  };
  for (const BadField& bad : cases) {
    const Error error = chat_error(chat(bad.fields));
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << bad.fields;
    EXPECT_EQ(error.param, bad.param) << bad.fields;
    EXPECT_FALSE(error.message.empty()) << bad.fields;
  }
}

// Each choice holds its own tables of the stop strings, and every token is compared with all ids.
TEST_F(SamplingFieldsTest, StopsTakeBoundedMemoryAndTime) {
  const std::string longest(4096, 'x');
  const auto good = service_.chat(chat("\"stop\":[\"" + longest + "\"]"));
  ASSERT_TRUE(good);
  EXPECT_EQ(good->job.options.stop, std::vector<std::string>{longest});
  EXPECT_EQ(chat_error(chat("\"stop\":\"" + longest + "y\"")).param, "stop");
  const auto ids = service_.chat(chat(R"("stop_token_ids":[7,5,7,7,5])"));
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->job.requests[0].sampling.stop_token_ids, (std::vector<int32_t>{5, 7}));
}

TEST_F(SamplingFieldsTest, TakesTheBordersOfEveryRange) {
  const char* cases[] = {
      R"("temperature":0)",
      R"("temperature":2.0)",
      R"("top_p":0)",
      R"("top_p":1)",
      R"("top_k":0)",
      R"("top_k":-1)",
      R"("min_p":1)",
      R"("frequency_penalty":-2)",
      R"("presence_penalty":2)",
      R"("n":128)",
      R"("n":2.0)",
      R"("seed":-5)",
      R"("stop":null)",
      R"("stop":["a","b","c","d"])",
      R"("max_tokens":1)",
      R"("logprobs":true,"top_logprobs":20)",
      R"("logprobs":false,"top_logprobs":0)",
      R"("logit_bias":{"1":-100,"2":100})",
      R"("stream_options":null)",
      R"("user":"u","metadata":{},"store":true,"x_foo":1,"top_a":2)",
      R"("reasoning_effort":"low","service_tier":"auto","parallel_tool_calls":false)",
  };
  for (const char* fields : cases) {
    const auto prepared = service_.chat(chat(fields));
    EXPECT_TRUE(prepared) << fields << ": " << prepared.error().message;
  }
}

TEST_F(SamplingFieldsTest, GenerationConfigGivesDefaultsAndRequestsOverrideThem) {
  const auto plain = service_.chat(chat(""));
  ASSERT_TRUE(plain);
  const SamplingParams& defaults = plain->job.requests[0].sampling;
  EXPECT_FLOAT_EQ(defaults.temperature, 0.6F);
  EXPECT_FLOAT_EQ(defaults.top_p, 0.95F);
  EXPECT_EQ(defaults.top_k, 20);
  EXPECT_FALSE(defaults.seed);
  EXPECT_EQ(defaults.num_logprobs, -1);

  const auto set = service_.chat(chat(
      R"("temperature":1.5,"top_p":0.5,"top_k":-1,"min_p":0.1,"seed":-1,"min_tokens":2,
         "ignore_eos":true,"stop_token_ids":[5],"priority":-3,"logit_bias":{"7":-2.5},
         "logprobs":true,"top_logprobs":4,"max_tokens":9)"));
  ASSERT_TRUE(set) << set.error().message;
  const Request& request = set->job.requests[0];
  EXPECT_FLOAT_EQ(request.sampling.temperature, 1.5F);
  EXPECT_FLOAT_EQ(request.sampling.top_p, 0.5F);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_FLOAT_EQ(request.sampling.min_p, 0.1F);
  EXPECT_EQ(request.sampling.seed, UINT64_MAX);
  EXPECT_EQ(request.sampling.min_tokens, 2);
  EXPECT_TRUE(request.sampling.ignore_eos);
  EXPECT_EQ(request.sampling.stop_token_ids, std::vector<int32_t>{5});
  EXPECT_EQ(request.priority, -3);
  ASSERT_EQ(request.sampling.logit_bias.size(), 1U);
  EXPECT_EQ(request.sampling.logit_bias[0].token, 7);
  EXPECT_FLOAT_EQ(request.sampling.logit_bias[0].bias, -2.5F);
  EXPECT_EQ(request.sampling.num_logprobs, 4);
  EXPECT_EQ(request.sampling.max_tokens, 9);
  EXPECT_EQ(request.eos_token_ids, context_->eos_token_ids);
}

TEST_F(SamplingFieldsTest, ACheckpointThatDoesNotSampleIsGreedyByDefault) {
  context_->generation_config.do_sample = false;
  const auto plain = service_.chat(chat(""));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->job.requests[0].sampling.temperature, 0.0F);
  const auto asked = service_.chat(chat(R"("temperature":0.5)"));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->job.requests[0].sampling.temperature, 0.5F);
}

TEST_F(SamplingFieldsTest, EmptyListsOfUnsupportedFieldsAreNothing) {
  EXPECT_TRUE(service_.chat(chat(R"("bad_words":[],"logits_processors":null)")));
}

TEST_F(SamplingFieldsTest, MaxTokensFillsTheContextAndNeverExceedsIt) {
  const auto open = service_.chat(chat(""));
  ASSERT_TRUE(open);
  const Request& request = open->job.requests[0];
  const auto prompt = static_cast<int64_t>(request.prompt_token_ids.size());
  EXPECT_EQ(request.sampling.max_tokens, 1000 - prompt);

  const Error over = chat_error(chat(R"("max_tokens":1000)"));
  EXPECT_EQ(over.api_code, "context_length_exceeded");
  EXPECT_EQ(over.param, "max_tokens");
  EXPECT_NE(over.message.find("1000"), std::string::npos);
  EXPECT_NE(over.message.find(std::to_string(prompt)), std::string::npos);

  context_->max_model_len = prompt;
  const Error long_prompt = chat_error(chat(""));
  EXPECT_EQ(long_prompt.api_code, "context_length_exceeded");
  EXPECT_EQ(long_prompt.param, "messages");
}

TEST_F(SamplingFieldsTest, TheNewerTokenLimitWins) {
  const auto both = service_.chat(chat(R"("max_tokens":100,"max_completion_tokens":8)"));
  ASSERT_TRUE(both);
  EXPECT_EQ(both->job.requests[0].sampling.max_tokens, 8);
}

TEST_F(SamplingFieldsTest, ModelNamesAreChecked) {
  EXPECT_EQ(service_.chat(chat(""))->job.options.model, "tiny");
  EXPECT_EQ(service_.chat(chat(R"("model":"alias")"))->job.options.model, "alias");
  const Error unknown = chat_error(chat(R"("model":"nope")"));
  EXPECT_EQ(unknown.code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.api_code, "model_not_found");
  EXPECT_EQ(chat_error(chat(R"("model":1)")).param, "model");
}

}  // namespace
}  // namespace deltaserve
