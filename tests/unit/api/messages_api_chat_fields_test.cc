// Fields of Anthropic request bodies beside the messages, as fields of chat bodies.
#include "messages_api_chat_body_case.h"

namespace deltaserve::messages_api {
namespace {

class MessagesApiChatFields : public ChatBodyTest {};

TEST_F(MessagesApiChatFields, ToolsBecomeFunctionsWithoutForeignKeys) {
  const json::Object fields = fields_of(body(kUser, R"("tools":[
      {"name":"f","description":"d","input_schema":{"type":"object","properties":{}},
       "cache_control":{"type":"ephemeral"},"strict":false,"input_examples":[{}]},
      {"type":"custom","name":"g","input_schema":{},"strict":true}])"));
  EXPECT_EQ(json::serialize(fields.at("tools")),
            R"([{"type":"function","function":{"name":"f","description":"d",)"
            R"("parameters":{"type":"object","properties":{}}}},)"
            R"({"type":"function","function":{"name":"g","parameters":{},"strict":true}}])");
}

TEST_F(MessagesApiChatFields, RefusesBadToolsByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("tools":{})", "tools"},
      {R"("tools":[1])", "tools[0]"},
      {R"("tools":[{"input_schema":{}}])", "tools[0].name"},
      {R"("tools":[{"name":"f"}])", "tools[0].input_schema"},
      {R"("tools":[{"name":"f","input_schema":[]}])", "tools[0].input_schema"},
      {R"("tools":[{"name":"f","description":1,"input_schema":{}}])", "tools[0].description"},
      {R"("tool_choice":"auto")", "tool_choice"},
      {R"("tool_choice":{})", "tool_choice.type"},
      {R"("tool_choice":{"type":"required"})", "tool_choice.type"},
      {R"("tool_choice":{"type":"tool"})", "tool_choice.name"},
      {R"("tool_choice":{"type":"auto","disable_parallel_tool_use":1})",
       "tool_choice.disable_parallel_tool_use"},
      {R"("mcp_servers":[{"name":"m"}])", "mcp_servers"},
  };
  for (const auto& [fields, param] : cases) {
    EXPECT_EQ(error_of(body(kUser, fields)).param, param) << fields;
  }
  for (const std::string type :
       {"web_search_20250305", "bash_20250124", "text_editor_20250728", "computer_20250124"}) {
    const Error error = error_of(body(kUser, R"("tools":[{"type":")" + type + R"(","name":"t"}])"));
    EXPECT_EQ(error.param, "tools[0].type");
    EXPECT_NE(error.message.find(type), std::string::npos);
  }
}

TEST_F(MessagesApiChatFields, ToolChoicesHaveChatsNames) {
  const auto choice = [](std::string_view value) {
    return fields_of(body(kUser, R"("tool_choice":)" + std::string(value)));
  };
  EXPECT_EQ(choice(R"({"type":"auto"})").at("tool_choice"), "auto");
  EXPECT_EQ(choice(R"({"type":"none"})").at("tool_choice"), "none");
  EXPECT_EQ(choice(R"({"type":"any"})").at("tool_choice"), "required");
  EXPECT_EQ(choice(R"({"type":"tool","name":"f"})").at("tool_choice").at("function").at("name"),
            "f");
  EXPECT_EQ(choice(R"({"type":"auto","disable_parallel_tool_use":true})").at("parallel_tool_calls"),
            false);
  EXPECT_FALSE(choice(R"({"type":"auto"})").contains("parallel_tool_calls"));
}

TEST_F(MessagesApiChatFields, ThinkingTurnsIntoSwitchAndBudget) {
  const auto thinking = [](std::string_view value) {
    return fields_of(body(kUser, R"("thinking":)" + std::string(value)));
  };
  const json::Object enabled =
      thinking(R"({"type":"enabled","budget_tokens":2048,"display":"omitted"})");
  EXPECT_EQ(json::serialize(enabled.at("thinking")), R"({"type":"enabled"})");
  EXPECT_EQ(enabled.at("thinking_token_budget"), 2048);
  EXPECT_EQ(json::serialize(thinking(R"({"type":"disabled"})").at("thinking")),
            R"({"type":"disabled"})");
  for (const char* open : {R"({"type":"adaptive"})", R"({"type":"between_tools"})"}) {
    EXPECT_FALSE(thinking(open).contains("thinking"));
    EXPECT_FALSE(thinking(open).contains("thinking_token_budget"));
  }
  const std::pair<const char*, const char*> wrong[] = {
      {"true", "thinking"},
      {"{}", "thinking.type"},
      {R"({"type":"on"})", "thinking.type"},
      {R"({"type":"enabled","budget_tokens":0})", "thinking.budget_tokens"},
      {R"({"type":"enabled","budget_tokens":"2048"})", "thinking.budget_tokens"},
      {R"({"type":"enabled","display":"full"})", "thinking.display"},
  };
  for (const auto& [value, param] : wrong) {
    EXPECT_EQ(error_of(body(kUser, R"("thinking":)" + std::string(value))).param, param) << value;
  }
}

TEST_F(MessagesApiChatFields, OutputConfigSetsEffortAndFormat) {
  const auto config = [](std::string_view value) {
    return fields_of(body(kUser, R"("output_config":)" + std::string(value)));
  };
  EXPECT_EQ(config(R"({"effort":"low"})").at("reasoning_effort"), "low");
  EXPECT_EQ(config(R"({"effort":"max"})").at("reasoning_effort"), "high");
  const json::Object format =
      config(R"({"format":{"type":"json_schema","schema":{"type":"object"}}})");
  EXPECT_EQ(json::serialize(format.at("response_format").at("json_schema").at("schema")),
            R"({"type":"object"})");
  const std::pair<const char*, const char*> wrong[] = {
      {R"("output_config":1)", "output_config"},
      {R"("output_config":{"effort":"none"})", "output_config.effort"},
      {R"("output_config":{"format":{"type":"text"}})", "output_config.format.type"},
      {R"("output_config":{"format":{"type":"json_schema"}})", "output_config.format.schema"},
      {R"("output_format":{"type":"json_schema"})", "output_format.schema"},
  };
  for (const auto& [value, param] : wrong) {
    EXPECT_EQ(error_of(body(kUser, value)).param, param) << value;
  }
}

TEST_F(MessagesApiChatFields, ThoughtsAreKeptIfTheRequestSaysSo) {
  const auto kwargs = [](std::string_view edits, std::string_view more = "") {
    json::Object fields = fields_of(body(
        kUser, R"("context_management":{"edits":)" + std::string(edits) + "}" + std::string(more)));
    return json::serialize(fields["chat_template_kwargs"]);
  };
  constexpr std::string_view kKeepAll = R"([{"type":"clear_thinking_20251015","keep":"all"}])";
  EXPECT_EQ(kwargs(kKeepAll), R"({"preserve_thinking":true})");
  EXPECT_EQ(kwargs(kKeepAll, R"(,"chat_template_kwargs":{"preserve_thinking":false})"),
            R"({"preserve_thinking":false})");
  for (const char* others :
       {"[]", "null", "[7,{}]", R"([{"type":"clear_tool_uses_20250919","keep":"all"}])",
        R"([{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":1}}])"}) {
    EXPECT_EQ(kwargs(others), "null");
  }
  EXPECT_EQ(error_of(body(kUser, R"("context_management":{"edits":1})")).param,
            "context_management.edits");
}

TEST_F(MessagesApiChatFields, StopSequencesMayBeMany) {
  const auto many = chat_body(parse(body(kUser, R"("stop_sequences":["a","b","c","d","e","f"])")));
  ASSERT_TRUE(many);
  EXPECT_EQ(many->stop_sequences, (std::vector<std::string>{"a", "b", "c", "d", "e", "f"}));
  EXPECT_FALSE(many->fields.contains("stop"));
  std::string list = "\"x\"";
  for (int i = 0; i < 256; ++i) {
    list += ",\"x\"";
  }
  for (const std::string& wrong : {std::string("\"a\""), std::string("[1]"), std::string("[\"\"]"),
                                   "[" + list + "]", "[\"" + std::string(4097, 'x') + "\"]"}) {
    EXPECT_EQ(error_of(body(kUser, "\"stop_sequences\":" + wrong)).param, "stop_sequences");
  }
}

TEST_F(MessagesApiChatFields, SharedFieldsPassAndUnknownOnesDoNot) {
  const json::Object fields = fields_of(
      body(kUser, R"("model":"m","stream":true,"temperature":0.5,"top_p":0.9,"top_k":5,"seed":3,
                "chat_template_kwargs":{"k":1},"metadata":{"user_id":"u"},"service_tier":"auto",
                "n":4,"stop":["x"],"logprobs":true,"context_management":{"edits":[]},
                "container":null,"mcp_servers":[],"anthropic_beta":["x"],"temperature_":1)"));
  EXPECT_EQ(json::serialize(json::Value(fields)),
            R"({"model":"m","max_tokens":9,"stream":true,"temperature":0.5,"top_p":0.9,)"
            R"("top_k":5,"seed":3,"chat_template_kwargs":{"k":1},)"
            R"("messages":[{"role":"user","content":"hi"}]})");
}

TEST_F(MessagesApiChatFields, ErrorsOfChatGetTheClientsNames) {
  const Error error =
      in_client_terms({ErrorCode::kInvalidArgument, "'tools[1].function.name' must be shorter.",
                       "tools[1].function.name", ""});
  EXPECT_EQ(error.param, "tools[1].name");
  EXPECT_EQ(error.message, "'tools[1].name' must be shorter.");
  const Error other = in_client_terms({ErrorCode::kInvalidArgument, "a.function.b", "model", ""});
  EXPECT_EQ(other.message, "a.function.b");
}

}  // namespace
}  // namespace deltaserve::messages_api
