// Anthropic request bodies as chat bodies.
#include "api/messages_api_chat_body.h"

#include <gtest/gtest.h>

#include <string>

#include "api/messages_api_signature.h"

namespace deltaserve::messages_api {
namespace {

json::Object parse(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? value->get_object() : json::Object();
}

std::string body(std::string_view messages, std::string_view fields = "") {
  std::string out = R"({"max_tokens":9,"messages":[)" + std::string(messages) + "]";
  out += fields.empty() ? "" : ",";
  out += fields;
  return out + "}";
}

constexpr std::string_view kUser = R"({"role":"user","content":"hi"})";

json::Object fields_of(std::string_view request) {
  auto result = chat_body(parse(request));
  EXPECT_TRUE(result) << result.error().message;
  return result ? result->fields : json::Object();
}

std::string messages_of(std::string_view messages, std::string_view fields = "") {
  return json::serialize(fields_of(body(messages, fields))["messages"]);
}

Error error_of(std::string_view request) {
  const auto result = chat_body(parse(request));
  EXPECT_FALSE(result) << request;
  return result ? Error{} : result.error();
}

TEST(MessagesApiChatBody, StringsAndTextBlocksAreAlike) {
  EXPECT_EQ(messages_of(kUser), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(messages_of(R"({"role":"user","content":[{"type":"text","text":"a"},
      {"type":"text","text":"b","cache_control":{"type":"ephemeral"},"citations":null}]})"),
            R"([{"role":"user","content":"ab"}])");
  EXPECT_EQ(messages_of(R"({"role":"user","content":[]})"), R"([{"role":"user","content":""}])");
}

TEST(MessagesApiChatBody, SystemComesFirstWithItsBlocksApart) {
  EXPECT_EQ(messages_of(kUser, R"("system":"S")"),
            R"([{"role":"system","content":"S"},{"role":"user","content":"hi"}])");
  EXPECT_EQ(messages_of(kUser, R"("system":[{"type":"text","text":"A"},
      {"type":"text","text":"B","cache_control":{"type":"ephemeral","ttl":"1h"}}])"),
            R"([{"role":"system","content":"A\n\nB"},{"role":"user","content":"hi"}])");
  for (const char* nothing : {R"("system":"")", R"("system":[])", R"("system":null)"}) {
    EXPECT_EQ(messages_of(kUser, nothing), R"([{"role":"user","content":"hi"}])");
  }
  EXPECT_EQ(messages_of(R"({"role":"user","content":"hi"},{"role":"system","content":"late"})"),
            R"([{"role":"user","content":"hi"},{"role":"system","content":"late"}])");
}

TEST(MessagesApiChatBody, AssistantBlocksBecomeReasoningTextAndCalls) {
  EXPECT_EQ(messages_of(R"({"role":"user","content":"q"},{"role":"assistant","content":[
      {"type":"thinking","thinking":"hm","signature":"x"},
      {"type":"redacted_thinking","data":"y"},
      {"type":"text","text":"Let me look."},
      {"type":"tool_use","id":"toolu_1","name":"f","input":{"b":[1],"a":"x"}},
      {"type":"tool_use","id":"toolu_2","name":"g","input":{}}]},)" +
                        std::string(kUser)),
            R"([{"role":"user","content":"q"},)"
            R"({"role":"assistant","content":"Let me look.","reasoning_content":"hm",)"
            R"("tool_calls":[{"type":"function","function":{"name":"f",)"
            R"("arguments":{"b":[1],"a":"x"}},"id":"toolu_1"},)"
            R"({"type":"function","function":{"name":"g","arguments":{}},"id":"toolu_2"}]},)"
            R"({"role":"user","content":"hi"}])");
}

TEST(MessagesApiChatBody, AThoughtThatWasNotShownComesBackInItsSignature) {
  const auto reasoning = [](const std::string& thinking, const std::string& signature) {
    const json::Object block{
        {"type", "thinking"}, {"thinking", thinking}, {"signature", signature}};
    const std::string turn = R"(,{"role":"assistant","content":[)" + json::serialize(block) + "]}";
    return fields_of(body(std::string(kUser) + turn))["messages"].at(1).at("reasoning_content");
  };
  EXPECT_EQ(reasoning("", signature_with("a \"b\"\n")), "a \"b\"\n");
  EXPECT_EQ(reasoning("shown", signature_with("other")), "shown");
  EXPECT_EQ(reasoning("shown", signature_of("shown")), "shown");
  EXPECT_EQ(reasoning("", "foreign"), "");
}

TEST(MessagesApiChatBody, ToolResultsComeBeforeTheTextOfTheirMessage) {
  EXPECT_EQ(messages_of(R"({"role":"user","content":[
      {"type":"text","text":"so?"},
      {"type":"tool_result","tool_use_id":"t1","content":"one"},
      {"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"tw"},
                                                          {"type":"text","text":"o"}]},
      {"type":"text","text":" tell"}]})"),
            R"([{"role":"tool","content":"one","tool_call_id":"t1"},)"
            R"({"role":"tool","content":"two","tool_call_id":"t2"},)"
            R"({"role":"user","content":"so? tell"}])");
  EXPECT_EQ(messages_of(R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]})"),
            R"([{"role":"tool","content":"","tool_call_id":"t"}])");
}

TEST(MessagesApiChatBody, FailedToolsSaySoOnce) {
  const auto result = [](const std::string& content) {
    return messages_of(R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t",
        "is_error":true,"content":")" +
                       content + "\"}]}");
  };
  EXPECT_EQ(result("no such file"),
            R"([{"role":"tool","content":"Error: no such file","tool_call_id":"t"}])");
  EXPECT_EQ(result("ERROR 7"), R"([{"role":"tool","content":"ERROR 7","tool_call_id":"t"}])");
}

TEST(MessagesApiChatBody, RefusesBadMessagesByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("x")", "messages[0]"},
      {R"({"content":"hi"})", "messages[0].role"},
      {R"({"role":7,"content":"hi"})", "messages[0].role"},
      {R"({"role":"tool","content":"hi"})", "messages[0].role"},
      {R"({"role":"user"})", "messages[0].content"},
      {R"({"role":"user","content":null})", "messages[0].content"},
      {R"({"role":"assistant","content":3})", "messages[0].content"},
      {R"({"role":"user","content":["a"]})", "messages[0].content[0]"},
      {R"({"role":"user","content":[{"text":"a"}]})", "messages[0].content[0].type"},
      {R"({"role":"user","content":[{"type":1}]})", "messages[0].content[0].type"},
      {R"({"role":"user","content":[{"type":"text"}]})", "messages[0].content[0].text"},
      {R"({"role":"user","content":[{"type":"text","text":1}]})", "messages[0].content[0].text"},
      {R"({"role":"user","content":[{"type":"tool_use","name":"f"}]})", "messages[0].content[0]"},
      {R"({"role":"user","content":[{"type":"tool_result","tool_use_id":1}]})",
       "messages[0].content[0].tool_use_id"},
      {R"({"role":"user","content":[{"type":"tool_result","is_error":"yes"}]})",
       "messages[0].content[0].is_error"},
      {R"({"role":"user","content":[{"type":"tool_result","content":5}]})",
       "messages[0].content[0].content"},
      {R"({"role":"user","content":[{"type":"tool_result","content":[{"type":"text"}]}]})",
       "messages[0].content[0].content[0].text"},
      {R"({"role":"assistant","content":[{"type":"tool_result"}]})", "messages[0].content[0]"},
      {R"({"role":"assistant","content":[{"type":"thinking"}]})",
       "messages[0].content[0].thinking"},
      {R"({"role":"assistant","content":[{"type":"tool_use","input":{}}]})",
       "messages[0].content[0].name"},
      {R"({"role":"assistant","content":[{"type":"tool_use","name":""}]})",
       "messages[0].content[0].name"},
      {R"({"role":"assistant","content":[{"type":"tool_use","name":"f","input":"{}"}]})",
       "messages[0].content[0].input"},
      {R"({"role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}]})", "messages"},
      {R"({"role":"system","content":[{"type":"image"}]})", "messages[0].content[0]"},
  };
  for (const auto& [message, param] : cases) {
    const Error error = error_of(body(message));
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << message;
    EXPECT_EQ(error.param, param) << message;
    EXPECT_FALSE(error.message.empty()) << message;
  }
  EXPECT_EQ(error_of(R"({"max_tokens":1})").param, "messages");
  EXPECT_EQ(error_of(R"({"messages":[]})").param, "messages");
  EXPECT_EQ(error_of(R"({"messages":"hi"})").param, "messages");
  EXPECT_EQ(error_of(body(kUser, R"("system":[{"type":"text","text":1}])")).param,
            "system[0].text");
}

TEST(MessagesApiChatBody, NamesTheBlocksThatItCannotShowTheModel) {
  const auto refusal = [](std::string_view block) {
    return error_of(body(R"({"role":"user","content":[)" + std::string(block) + "]}")).message;
  };
  EXPECT_NE(refusal(R"({"type":"image"})").find("messages[0].content[0].source"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"type":"image","source":{"type":"file","file_id":"f"}})").find("'base64'"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"type":"tool_result","tool_use_id":"t","content":[{"type":"image"}]})")
                .find("messages[0].content[0].content[0].source"),
            std::string::npos);
  for (const std::string type : {"document", "search_result", "server_tool_use", "container_upload",
                                 "web_search_tool_result"}) {
    EXPECT_NE(refusal(R"({"type":")" + type + "\"}").find("'" + type + "'"), std::string::npos);
  }
}

TEST(MessagesApiChatBody, ALastAssistantMessageIsContinued) {
  const json::Object fields =
      fields_of(body(std::string(kUser) + R"(,{"role":"assistant","content":"Once "})"));
  EXPECT_EQ(fields.at("continue_final_message"), true);
  EXPECT_EQ(fields.at("messages").at(1).at("content"), "Once ");
  EXPECT_FALSE(fields_of(body(kUser)).contains("continue_final_message"));
}

TEST(MessagesApiChatBody, ToolsBecomeFunctionsWithoutForeignKeys) {
  const json::Object fields = fields_of(body(kUser, R"("tools":[
      {"name":"f","description":"d","input_schema":{"type":"object","properties":{}},
       "cache_control":{"type":"ephemeral"},"strict":false,"input_examples":[{}]},
      {"type":"custom","name":"g","input_schema":{},"strict":true}])"));
  EXPECT_EQ(json::serialize(fields.at("tools")),
            R"([{"type":"function","function":{"name":"f","description":"d",)"
            R"("parameters":{"type":"object","properties":{}}}},)"
            R"({"type":"function","function":{"name":"g","parameters":{},"strict":true}}])");
}

TEST(MessagesApiChatBody, RefusesBadToolsByName) {
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

TEST(MessagesApiChatBody, ToolChoicesHaveChatsNames) {
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

TEST(MessagesApiChatBody, ThinkingTurnsIntoSwitchAndBudget) {
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

TEST(MessagesApiChatBody, OutputConfigSetsEffortAndFormat) {
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

TEST(MessagesApiChatBody, ThoughtsAreKeptIfTheRequestSaysSo) {
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

TEST(MessagesApiChatBody, StopSequencesMayBeMany) {
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

TEST(MessagesApiChatBody, SharedFieldsPassAndUnknownOnesDoNot) {
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

TEST(MessagesApiChatBody, ErrorsOfChatGetTheClientsNames) {
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
