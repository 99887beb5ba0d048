// Fields that only /v1/responses has: what is repeated, what is refused.
#include "api/responses_settings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace deltaserve::responses_api {
namespace {

json::Object object(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? std::move(value->get_object()) : json::Object();
}

Settings settings_of(std::string_view body) {
  SamplingParams defaults;
  defaults.temperature = 0.6F;
  const json::Object request = object(body);
  FieldReader fields(request);
  Settings settings = read_settings(defaults, fields);
  EXPECT_TRUE(fields.ok()) << fields.error().message;
  return settings;
}

json::Object repeated(std::string_view body) {
  return object(fmt::format("{{{}}}", settings_of(body).repeated));
}

Error error_of(std::string_view body) {
  const json::Object request = object(body);
  FieldReader fields(request);
  read_settings({}, fields);
  EXPECT_FALSE(fields.ok()) << body;
  return fields.ok() ? Error{} : fields.error();
}

TEST(ResponsesSettings, FillsInDefaults) {
  EXPECT_EQ(settings_of("{}").repeated,
            R"("background":false,"instructions":null,"max_output_tokens":null,)"
            R"("max_tool_calls":null,"metadata":{},"parallel_tool_calls":true,)"
            R"("previous_response_id":null,"prompt_cache_key":null,)"
            R"("reasoning":{"effort":null,"summary":null},"safety_identifier":null,)"
            R"("service_tier":"default","store":false,"temperature":0.6,)"
            R"("text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],)"
            R"("top_logprobs":0,"top_p":1.0,"truncation":"disabled","user":null)");
}

TEST(ResponsesSettings, RepeatsTheRequest) {
  const json::Object out = repeated(
      R"({"instructions":"i","max_output_tokens":5,"metadata":{"a":"b"},"store":true,
          "parallel_tool_calls":false,"prompt_cache_key":"k","user":"u","safety_identifier":"s",
          "reasoning":{"effort":"high","summary":"auto"},"temperature":0,"top_p":0.5,
          "text":{"verbosity":"low"},"tools":[{"type":"function","name":"f","strict":null}],
          "tool_choice":"none","truncation":"disabled","max_tool_calls":3})");
  EXPECT_EQ(out.at("instructions"), "i");
  EXPECT_EQ(out.at("max_output_tokens"), 5);
  EXPECT_EQ(out.at("max_tool_calls"), 3);
  EXPECT_EQ(out.at("metadata").at("a"), "b");
  EXPECT_EQ(out.at("store"), false);
  EXPECT_EQ(out.at("parallel_tool_calls"), false);
  EXPECT_EQ(out.at("prompt_cache_key"), "k");
  EXPECT_EQ(out.at("user"), "u");
  EXPECT_EQ(out.at("safety_identifier"), "s");
  EXPECT_EQ(out.at("reasoning").at("effort"), "high");
  EXPECT_EQ(out.at("reasoning").at("summary"), "auto");
  EXPECT_EQ(out.at("temperature"), 0);
  EXPECT_EQ(out.at("top_p"), 0.5);
  EXPECT_EQ(json::serialize(out.at("text")), R"({"format":{"type":"text"},"verbosity":"low"})");
  EXPECT_EQ(json::serialize(out.at("tools")), R"([{"type":"function","name":"f","strict":null}])");
  EXPECT_EQ(out.at("tool_choice"), "none");
}

TEST(ResponsesSettings, ReadsInclude) {
  const Settings none = settings_of(R"({"include":["file_search_call.results"]})");
  EXPECT_FALSE(none.logprobs || none.carry_reasoning);
  EXPECT_TRUE(settings_of(R"({"include":["reasoning.encrypted_content"]})").carry_reasoning);
  const Settings logprobs =
      settings_of(R"({"include":["message.output_text.logprobs"],"top_logprobs":2})");
  EXPECT_TRUE(logprobs.logprobs);
  EXPECT_EQ(object(fmt::format("{{{}}}", logprobs.repeated)).at("top_logprobs"), 2);
}

TEST(ResponsesSettings, RefusesWhatNeedsAStore) {
  for (const char* field : {"previous_response_id", "conversation", "prompt", "background"}) {
    const char* value = field == std::string_view("background") ? "true" : R"("x")";
    const Error error = error_of(fmt::format(R"({{"{}":{}}})", field, value));
    EXPECT_EQ(error.param, field);
    EXPECT_NE(error.message.find("stores nothing"), std::string::npos) << field;
  }
  EXPECT_EQ(error_of(R"({"truncation":"auto"})").param, "truncation");
  EXPECT_EQ(error_of(R"({"context_management":[{"type":"compaction"}]})").param,
            "context_management");
  settings_of(R"({"previous_response_id":null,"conversation":null,"background":false,
                  "context_management":[],"n":1})");
}

TEST(ResponsesSettings, RefusesWrongValuesByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"truncation":"odd"})", "truncation"},
      {R"({"include":"a"})", "include"},
      {R"({"include":["odd"]})", "include[0]"},
      {R"({"include":[1]})", "include[0]"},
      {R"({"top_logprobs":3})", "top_logprobs"},
      {R"({"top_logprobs":-1})", "top_logprobs"},
      {R"({"reasoning":{"summary":1}})", "reasoning.summary"},
      {R"({"text":{"verbosity":"odd"}})", "text.verbosity"},
      {R"({"metadata":{"a":1}})", "metadata"},
      {R"({"metadata":[]})", "metadata"},
      {R"({"max_output_tokens":0})", "max_output_tokens"},
      {R"({"max_tool_calls":0})", "max_tool_calls"},
      {R"({"instructions":[]})", "instructions"},
      {R"({"store":"yes"})", "store"},
      {R"({"user":1})", "user"},
      {R"({"n":2})", "n"},
      {R"({"parallel_tool_calls":1})", "parallel_tool_calls"},
  };
  for (const auto& [body, param] : cases) {
    EXPECT_EQ(error_of(body).param, param) << body;
  }
}

}  // namespace
}  // namespace deltaserve::responses_api
