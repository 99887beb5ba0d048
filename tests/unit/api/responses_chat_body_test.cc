// Requests of /v1/responses as chat requests, and the names in their errors.
#include "api/responses_chat_body.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace deltaserve::responses_api {
namespace {

json::Object object(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? std::move(value->get_object()) : json::Object();
}

json::Object chat_of(std::string_view fields, bool logprobs = false) {
  const Result<json::Object> chat =
      chat_body(object(fmt::format(R"({{"input":"hi",{}}})", fields)), logprobs);
  EXPECT_TRUE(chat) << chat.error().message;
  return chat ? *chat : json::Object();
}

Error error_of(std::string_view fields) {
  const Result<json::Object> chat =
      chat_body(object(fmt::format(R"({{"input":"hi",{}}})", fields)), false);
  EXPECT_FALSE(chat) << fields;
  return chat ? Error{} : chat.error();
}

TEST(ResponsesChatBody, KeepsWhatBothHave) {
  const json::Object chat = chat_of(
      R"("model":"m","temperature":0.5,"top_p":null,"seed":7,"stop":["a"],"top_k":3,"stream":true,
         "chat_template_kwargs":{"enable_thinking":false},"x_unknown":1,"user":"u","store":true,
         "echo":true,"messages":[],"n":1,"max_tokens":3)");
  EXPECT_EQ(json::serialize(chat),
            R"({"model":"m","stream":true,"temperature":0.5,"seed":7,"stop":["a"],"top_k":3,)"
            R"("chat_template_kwargs":{"enable_thinking":false},)"
            R"("messages":[{"role":"user","content":"hi"}]})");
}

TEST(ResponsesChatBody, RenamesWhatIsNamedOtherwise) {
  const json::Object chat = chat_of(
      R"("max_output_tokens":9,"reasoning":{"effort":"low","summary":"auto"},
         "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},
                           "strict":true},"verbosity":"low"})",
      true);
  EXPECT_EQ(json::serialize(chat),
            R"({"logprobs":true,"max_completion_tokens":9,"reasoning_effort":"low",)"
            R"("response_format":{"type":"json_schema","json_schema":{"name":"n",)"
            R"("schema":{"type":"object"},"strict":true}},)"
            R"("messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(json::serialize(chat_of(R"("text":{"format":{"type":"text"}})").at("response_format")),
            R"({"type":"text"})");
}

TEST(ResponsesChatBody, NestsFunctions) {
  const json::Object chat = chat_of(
      R"("tools":[{"strict":true,"type":"function","parameters":{"type":"object"},"name":"f",
                   "description":null,"defer_loading":false},
                  {"type":"function","name":"g","description":"d","parameters":null,
                   "strict":null},
                  {"type":"function","name":"h","strict":false}],
         "tool_choice":"auto")");
  EXPECT_EQ(json::serialize(chat.at("tools")),
            R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"},)"
            R"("strict":true}},)"
            R"({"type":"function","function":{"name":"g","description":"d"}},)"
            R"({"type":"function","function":{"name":"h"}}])");
  EXPECT_EQ(chat.at("tool_choice"), "auto");
}

TEST(ResponsesChatBody, NestsANamedChoice) {
  EXPECT_EQ(
      json::serialize(chat_of(R"("tool_choice":{"type":"function","name":"f"})").at("tool_choice")),
      R"({"type":"function","function":{"name":"f"}})");
}

TEST(ResponsesChatBody, LeavesTheAllowedTools) {
  const json::Object chat =
      chat_of(R"("tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}],
                 "tool_choice":{"type":"allowed_tools","mode":"required",
                                "tools":[{"type":"function","name":"g"}]})");
  EXPECT_EQ(json::serialize(chat.at("tools")), R"([{"type":"function","function":{"name":"g"}}])");
  EXPECT_EQ(chat.at("tool_choice"), "required");
}

TEST(ResponsesChatBody, RefusesToolsThatItWouldHaveToRun) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("tools":[{"type":"function","name":"f"},{"type":"web_search"}])", "tools[1].type"},
      {R"("tools":[{"type":"custom","name":"f"}])", "tools[0].type"},
      {R"("tools":[{"name":"f"}])", "tools[0].type"},
      {R"("tools":["f"])", "tools[0]"},
      {R"("tools":{})", "tools"},
      {R"("tools":[{"type":"function","function":{"name":"f"}}])", "tools[0].name"},
      {R"("tools":[{"type":"function","name":"f","strict":"yes"}])", "tools[0].strict"},
      {R"("tool_choice":{"type":"web_search_preview"})", "tool_choice.type"},
      {R"("tool_choice":{"type":1})", "tool_choice.type"},
      {R"("tool_choice":{"type":"allowed_tools","mode":"none"})", "tool_choice.mode"},
      {R"("tool_choice":{"type":"allowed_tools","mode":"auto"})", "tool_choice.tools"},
      {R"("tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]})", "tool_choice.tools"},
      {R"("tool_choice":{"type":"allowed_tools","mode":"auto","tools":["f"]})",
       "tool_choice.tools[0]"},
      {R"("tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools",
          "mode":"auto","tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}]})",
       "tool_choice.tools[1]"},
  };
  for (const auto& [fields, param] : cases) {
    EXPECT_EQ(error_of(fields).param, param) << fields;
  }
  EXPECT_NE(error_of(cases[0].first).message.find("'web_search'"), std::string::npos);
}

TEST(ResponsesChatBody, RefusesWrongTypesByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("instructions":1)", "instructions"},
      {R"("reasoning":"low")", "reasoning"},
      {R"("text":"json")", "text"},
      {R"("text":{"format":"json"})", "text.format"},
  };
  for (const auto& [fields, param] : cases) {
    EXPECT_EQ(error_of(fields).param, param) << fields;
  }
  const Result<json::Object> none = chat_body(object("{}"), false);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().param, "input");
}

TEST(ResponsesChatBody, TellsChatErrorsInItsOwnNames) {
  const auto renamed = [](std::string message, std::string param) {
    const Error error =
        in_own_names({ErrorCode::kInvalidArgument, std::move(message), std::move(param), "c"});
    EXPECT_EQ(error.api_code, "c");
    return fmt::format("{}: {}", error.param, error.message);
  };
  EXPECT_EQ(renamed("'messages' must not be empty.", "messages"),
            "input: 'input' must not be empty.");
  EXPECT_EQ(renamed("'max_completion_tokens' asks for 5 more.", "max_completion_tokens"),
            "max_output_tokens: 'max_output_tokens' asks for 5 more.");
  EXPECT_EQ(renamed("'response_format.type' is 'x'.", "response_format.type"),
            "text.format.type: 'text.format.type' is 'x'.");
  EXPECT_EQ(
      renamed("'response_format.json_schema.schema' is bad.", "response_format.json_schema.schema"),
      "text.format.schema: 'text.format.schema' is bad.");
  EXPECT_EQ(renamed("'tool_choice.function.name' must be a string.", "tool_choice.function.name"),
            "tool_choice.name: 'tool_choice.name' must be a string.");
  EXPECT_EQ(renamed("'reasoning_effort' must be a string.", "reasoning_effort"),
            "reasoning.effort: 'reasoning.effort' must be a string.");
  EXPECT_EQ(renamed("'tools[12].function.name' must be 'function'.", "tools[12].function.name"),
            "tools[12].name: 'tools[12].name' must be 'function'.");
  EXPECT_EQ(renamed("messages, 'messages_of_mine' and tools[ stay.", ""),
            ": messages, 'messages_of_mine' and tools[ stay.");
}

}  // namespace
}  // namespace deltaserve::responses_api
