// Messages of Anthropic request bodies as those of chat bodies.
#include "api/messages_api_signature.h"
#include "messages_api_chat_body_case.h"

namespace deltaserve::messages_api {
namespace {

class MessagesApiChatBody : public ChatBodyTest {};

TEST_F(MessagesApiChatBody, StringsAndTextBlocksAreAlike) {
  EXPECT_EQ(messages_of(kUser), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(messages_of(R"({"role":"user","content":[{"type":"text","text":"a"},
      {"type":"text","text":"b","cache_control":{"type":"ephemeral"},"citations":null}]})"),
            R"([{"role":"user","content":"ab"}])");
  EXPECT_EQ(messages_of(R"({"role":"user","content":[]})"), R"([{"role":"user","content":""}])");
}

TEST_F(MessagesApiChatBody, SystemComesFirstWithItsBlocksApart) {
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

TEST_F(MessagesApiChatBody, AssistantBlocksBecomeReasoningTextAndCalls) {
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

TEST_F(MessagesApiChatBody, AThoughtThatWasNotShownComesBackInItsSignature) {
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

TEST_F(MessagesApiChatBody, ToolResultsComeBeforeTheTextOfTheirMessage) {
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

TEST_F(MessagesApiChatBody, FailedToolsSaySoOnce) {
  const auto result = [](const std::string& content) {
    return messages_of(R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t",
        "is_error":true,"content":")" +
                       content + "\"}]}");
  };
  EXPECT_EQ(result("no such file"),
            R"([{"role":"tool","content":"Error: no such file","tool_call_id":"t"}])");
  EXPECT_EQ(result("ERROR 7"), R"([{"role":"tool","content":"ERROR 7","tool_call_id":"t"}])");
}

TEST_F(MessagesApiChatBody, RefusesBadMessagesByName) {
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

TEST_F(MessagesApiChatBody, NamesTheBlocksThatItCannotShowTheModel) {
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

TEST_F(MessagesApiChatBody, ALastAssistantMessageIsContinued) {
  const json::Object fields =
      fields_of(body(std::string(kUser) + R"(,{"role":"assistant","content":"Once "})"));
  EXPECT_EQ(fields.at("continue_final_message"), true);
  EXPECT_EQ(fields.at("messages").at(1).at("content"), "Once ");
  EXPECT_FALSE(fields_of(body(kUser)).contains("continue_final_message"));
}

}  // namespace
}  // namespace deltaserve::messages_api
