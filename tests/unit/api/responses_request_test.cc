// Bodies of /v1/responses to jobs, beside the chat requests of the same meaning.
#include <gtest/gtest.h>

#include "api/response_format.h"
#include "api_fixture.h"

namespace deltaserve {
namespace {

class ResponsesRequestTest : public ApiTest {
 protected:
  ApiService::Prepared prepare(std::string_view body) const {
    auto prepared = service_.responses(body);
    EXPECT_TRUE(prepared) << prepared.error().message;
    return prepared ? *std::move(prepared) : ApiService::Prepared{};
  }

  std::string prompt(std::string_view body) const {
    const GenerationJob job = prepare(body).job;
    return job.requests.empty()
               ? ""
               : context_->tokenizer->decode(job.requests[0].prompt_token_ids, false);
  }

  Error error_of(std::string_view body) const {
    const auto prepared = service_.responses(body);
    EXPECT_FALSE(prepared) << body;
    return prepared ? Error{} : prepared.error();
  }
};

TEST_F(ResponsesRequestTest, MakesTheJobOfAnAnswer) {
  const auto prepared = prepare(
      R"({"input":"hi","model":"alias","max_output_tokens":7,"temperature":0.5,"seed":3,
          "stop":["x"],"stream":true,"include":["message.output_text.logprobs"],
          "top_logprobs":2})");
  const ResponseOptions& options = prepared.job.options;
  EXPECT_TRUE(options.id.starts_with("resp_"));
  EXPECT_EQ(options.model, "alias");
  EXPECT_TRUE(options.stream);
  EXPECT_EQ(options.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(options.n, 1);
  EXPECT_EQ(options.num_logprobs, 2);
  const SamplingParams& sampling = prepared.job.requests.at(0).sampling;
  EXPECT_EQ(sampling.max_tokens, 7);
  EXPECT_EQ(sampling.temperature, 0.5F);
  EXPECT_EQ(sampling.seed, 3U);
  EXPECT_EQ(sampling.num_logprobs, 2);
}

TEST_F(ResponsesRequestTest, FallsBackToTheCheckpointsDefaults) {
  const auto prepared = prepare(R"({"input":"hi"})");
  EXPECT_EQ(prepared.job.requests.at(0).sampling.temperature, 0.6F);
  const auto format = prepared.job.options.make_format(*context_->tokenizer, prepared.job.options);
  const json::Object body = object(format->body({CollectedChoice{}}, {}));
  EXPECT_EQ(body.at("temperature"), 0.6);
  EXPECT_EQ(body.at("top_p"), 0.95);
  EXPECT_EQ(body.at("id").get_string(), prepared.job.options.id);
}

TEST_F(ResponsesRequestTest, MakesThePromptOfTheSameChat) {
  const std::string responses = prompt(
      R"({"instructions":"Be brief.","input":[{"role":"developer","content":"b"},
          {"role":"user","content":[{"type":"input_text","text":"Weather?"}]},
          {"type":"reasoning","id":"rs_1","summary":[],
           "content":[{"type":"reasoning_text","text":"need it"}]},
          {"type":"message","id":"msg_1","status":"completed","role":"assistant",
           "content":[{"type":"output_text","text":"Wait.","annotations":[]}]},
          {"type":"function_call","id":"fc_1","call_id":"call_1","name":"f",
           "arguments":"{\"city\":\"Ulm\"}","status":"completed"},
          {"type":"function_call_output","call_id":"call_1","output":"sunny"}],
          "tools":[{"type":"function","name":"f","description":"d","strict":true,
                    "parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]})");
  const std::string chat = prompt_of(
      R"({"messages":[{"role":"system","content":"Be brief."},{"role":"developer","content":"b"},
          {"role":"user","content":"Weather?"},
          {"role":"assistant","content":"Wait.","reasoning_content":"need it",
           "tool_calls":[{"id":"call_1","type":"function",
                          "function":{"name":"f","arguments":"{\"city\":\"Ulm\"}"}}]},
          {"role":"tool","tool_call_id":"call_1","content":"sunny"}],
          "tools":[{"type":"function","function":{"name":"f","description":"d",
                    "parameters":{"type":"object","properties":{"city":{"type":"string"}}},
                    "strict":true}}]})");
  EXPECT_EQ(responses, chat);
  EXPECT_NE(responses.find("need it"), std::string::npos);
}

TEST_F(ResponsesRequestTest, TurnsThinkingOff) {
  const std::string off = prompt(R"({"input":"hi","reasoning":{"effort":"none"}})");
  EXPECT_EQ(off, prompt(R"({"input":"hi","chat_template_kwargs":{"enable_thinking":false}})"));
  EXPECT_NE(off, prompt(R"({"input":"hi"})"));
}

TEST_F(ResponsesRequestTest, NamesTheFieldsOfTheRequest) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "input"},
      {R"({"input":"hi","model":"nope"})", "model"},
      {R"({"input":"hi","temperature":3})", "temperature"},
      {R"({"input":"hi","stop":[""]})", "stop"},
      {R"({"input":"hi","max_output_tokens":2000})", "max_output_tokens"},
      {R"({"input":"hi","top_logprobs":99,"include":["message.output_text.logprobs"]})",
       "top_logprobs"},
      {R"({"input":"hi","text":{"format":{"type":"odd"}}})", "text.format.type"},
      {R"({"input":"hi","tools":[{"type":"function","name":"a b"}]})", "tools[0].name"},
      {R"({"input":"hi","tools":[{"type":"function","name":"f","parameters":[]}]})",
       "tools[0].parameters"},
      {R"({"input":"hi","tool_choice":"odd"})", "tool_choice"},
      {R"({"input":"hi","reasoning":{"effort":"odd"}})", "reasoning.effort"},
      {R"({"input":"hi","reasoning":{"effort":1}})", "reasoning.effort"},
      {R"({"input":"hi","stream_options":{}})", "stream_options"},
      {R"({"input":"hi","guided_regex":7})", "guided_regex"},
  };
  for (const auto& [body, param] : cases) {
    EXPECT_EQ(error_of(body).param, param) << body;
  }
  EXPECT_EQ(error_of("[]").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of(R"({"input":"hi","model":"nope"})").code, ErrorCode::kNotFound);
}

TEST_F(ResponsesRequestTest, SaysWhatDoesNotFit) {
  const Error error = error_of(R"({"input":"hi","max_output_tokens":2000})");
  EXPECT_EQ(error.api_code, "context_length_exceeded");
  EXPECT_NE(error.message.find("'max_output_tokens'"), std::string::npos);
  EXPECT_NE(error.message.find("1000"), std::string::npos);
  context_->max_model_len = 5;
  const Error long_input = error_of(R"({"input":"hi"})");
  EXPECT_EQ(long_input.api_code, "context_length_exceeded");
  EXPECT_EQ(long_input.param, "input");
}

TEST_F(ResponsesRequestTest, NamesTheInputWhenTheTemplateComplains) {
  const Error error = error_of(R"({"input":[{"role":"assistant","content":"a"}]})");
  EXPECT_EQ(error.param, "input") << error.message;
}

}  // namespace
}  // namespace deltaserve
