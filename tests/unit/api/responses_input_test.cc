// Items of a /v1/responses input as chat messages.
#include "api/responses_input.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace deltaserve::responses_api {
namespace {

json::Value parse(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : json::Value();
}

std::string messages(std::string_view input, const std::optional<std::string>& instructions = {}) {
  const Result<json::Array> out = chat_messages(parse(input), instructions);
  EXPECT_TRUE(out) << out.error().message;
  return out ? json::serialize(*out) : "";
}

Error error_of(std::string_view input) {
  const Result<json::Array> out = chat_messages(parse(input), std::nullopt);
  EXPECT_FALSE(out) << input;
  return out ? Error{} : out.error();
}

TEST(ResponsesInput, StringIsAUserMessage) {
  EXPECT_EQ(messages(R"("hi")"), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(messages(R"("hi")", "Be brief."),
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}])");
}

TEST(ResponsesInput, EmptyInstructionsAreNone) {
  EXPECT_EQ(messages(R"("hi")", ""), R"([{"role":"user","content":"hi"}])");
}

TEST(ResponsesInput, TakesMessagesInEveryForm) {
  EXPECT_EQ(messages(R"([{"role":"developer","content":"a"},
                         {"type":"message","role":"system","content":"b"},
                         {"type":"message","role":"user","status":"completed","content":[
                           {"type":"input_text","text":"c"},{"type":"input_text","text":"d"}]},
                         {"role":"assistant","content":"e"},
                         {"role":"user","content":[]}])"),
            R"([{"role":"developer","content":"a"},{"role":"system","content":"b"},)"
            R"({"role":"user","content":"cd"},{"role":"assistant","content":"e"},)"
            R"({"role":"user","content":""}])");
}

TEST(ResponsesInput, JoinsTheItemsOfOneAnswer) {
  EXPECT_EQ(messages(R"([{"type":"reasoning","id":"rs_1","summary":[],"status":"completed",
                          "content":[{"type":"reasoning_text","text":"think"}]},
                         {"type":"message","id":"msg_1","role":"assistant","status":"completed",
                          "content":[{"type":"output_text","text":"Let me see.","annotations":[],
                                      "logprobs":[]}]},
                         {"type":"function_call","id":"fc_1","call_id":"call_1","name":"f",
                          "arguments":"{\"a\":1}","status":"completed"},
                         {"type":"function_call","call_id":"call_2","name":"g","arguments":"{}"},
                         {"type":"function_call_output","call_id":"call_1","output":"one"},
                         {"type":"function_call_output","call_id":"call_2","output":[
                           {"type":"input_text","text":"t"},{"type":"input_text","text":"wo"}]}])"),
            R"([{"role":"assistant","content":"Let me see.","reasoning_content":"think",)"
            R"("tool_calls":[{"id":"call_1","type":"function","function":{"name":"f",)"
            R"("arguments":"{\"a\":1}"}},{"id":"call_2","type":"function","function":)"
            R"({"name":"g","arguments":"{}"}}]},)"
            R"({"role":"tool","content":"one","tool_call_id":"call_1"},)"
            R"({"role":"tool","content":"two","tool_call_id":"call_2"}])");
}

TEST(ResponsesInput, TextBehindCallsBelongsToTheirTurn) {
  EXPECT_EQ(messages(R"([{"role":"assistant","content":"a"},
                         {"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
                         {"role":"assistant","content":"\n\nb"}])"),
            R"([{"role":"assistant","content":"a\n\nb","tool_calls":[{"id":"1",)"
            R"("type":"function","function":{"name":"f","arguments":"{}"}}]}])");
}

TEST(ResponsesInput, SeparatesTurns) {
  EXPECT_EQ(messages(R"([{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}])"),
            R"([{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}])");
  EXPECT_EQ(messages(R"([{"role":"assistant","content":"a"},
                         {"type":"reasoning","summary":[],
                          "content":[{"type":"reasoning_text","text":"r"}]},
                         {"role":"assistant","content":"b"}])"),
            R"([{"role":"assistant","content":"a"},)"
            R"({"role":"assistant","content":"b","reasoning_content":"r"}])");
  EXPECT_EQ(messages(R"([{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
                         {"type":"function_call_output","call_id":"1","output":"x"},
                         {"role":"assistant","content":"b"},{"role":"user","content":"c"}])"),
            R"([{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function",)"
            R"("function":{"name":"f","arguments":"{}"}}]},)"
            R"({"role":"tool","content":"x","tool_call_id":"1"},)"
            R"({"role":"assistant","content":"b"},{"role":"user","content":"c"}])");
}

TEST(ResponsesInput, FindsTheThoughtWhereverItIs) {
  const auto thought = [](std::string_view fields) {
    return messages(fmt::format(R"([{{"type":"reasoning",{}}}])", fields));
  };
  const auto expected = [](std::string_view text) {
    return fmt::format(R"([{{"role":"assistant","content":"","reasoning_content":"{}"}}])", text);
  };
  EXPECT_EQ(thought(R"("summary":[{"type":"summary_text","text":"s"}],
                       "content":[{"type":"reasoning_text","text":"c"}])"),
            expected("c"));
  EXPECT_EQ(thought(R"("summary":[{"type":"summary_text","text":"s"},
                                  {"type":"summary_text","text":"t"}],"content":null)"),
            expected(R"(s\n\nt)"));
  EXPECT_EQ(thought(R"("summary":[{"type":"summary_text","text":"s"}],"content":[],
                       "encrypted_content":"deltaserve:own")"),
            expected("own"));
  EXPECT_EQ(messages(R"([{"role":"user","content":"a"},
                         {"type":"reasoning","summary":[],"encrypted_content":"gAAAAB"}])"),
            R"([{"role":"user","content":"a"}])");
}

TEST(ResponsesInput, SeveralThoughtsBeforeOneTextAreParagraphs) {
  EXPECT_EQ(messages(R"([{"type":"reasoning","content":[{"text":"a"}]},
                         {"type":"reasoning","content":[{"text":"b"}]},
                         {"role":"assistant","content":"c"}])"),
            R"([{"role":"assistant","content":"c","reasoning_content":"a\n\nb"}])");
}

TEST(ResponsesInput, TakesARefusalAsText) {
  EXPECT_EQ(messages(R"([{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}])"),
            R"([{"role":"assistant","content":"no"}])");
}

TEST(ResponsesInput, TakesArgumentsAsObjectAndBroken) {
  EXPECT_EQ(messages(R"([{"type":"function_call","name":"f","arguments":{"a":1}},
                         {"type":"function_call","name":"f","arguments":"{\"a\":","status":"incomplete"},
                         {"type":"function_call","name":"f"}])"),
            R"([{"role":"assistant","content":"","tool_calls":[)"
            R"({"type":"function","function":{"name":"f","arguments":{"a":1}}},)"
            R"({"type":"function","function":{"name":"f","arguments":"{\"a\":"}},)"
            R"({"type":"function","function":{"name":"f"}}]}])");
}

TEST(ResponsesInput, RefusesByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"7", "input"},
      {"{}", "input"},
      {"[]", "input"},
      {R"([{"type":"reasoning","summary":[]}])", "input"},
      {R"(["hi"])", "input[0]"},
      {R"([{"content":"hi"}])", "input[0].type"},
      {R"([{"type":1,"role":"user","content":"hi"}])", "input[0].type"},
      {R"([{"role":"tool","content":"hi"}])", "input[0].role"},
      {R"([{"type":"message","content":"hi"}])", "input[0].role"},
      {R"([{"role":3,"content":"hi"}])", "input[0].role"},
      {R"([{"role":"user"}])", "input[0].content"},
      {R"([{"role":"user","content":null}])", "input[0].content"},
      {R"([{"role":"user","content":4}])", "input[0].content"},
      {R"([{"role":"user","content":["a"]}])", "input[0].content[0]"},
      {R"([{"role":"user","content":[{"text":"a"}]}])", "input[0].content[0].type"},
      {R"([{"role":"user","content":[{"type":"odd"}]}])", "input[0].content[0].type"},
      {R"([{"role":"user","content":[{"type":"input_text"}]}])", "input[0].content[0].text"},
      {R"([{"role":"user","content":[{"type":"input_text","text":1}]}])",
       "input[0].content[0].text"},
      {R"([{"role":"user","content":[{"type":"input_text","text":"a"},
           {"type":"input_image","file_id":"file_1"}]}])",
       "input[0].content[1]"},
      {R"([{"role":"system","content":[{"type":"input_image","image_url":"data:,"}]}])",
       "input[0].content[0]"},
      {R"([{"role":"user","content":[{"type":"input_file","file_data":"x"}]}])",
       "input[0].content[0]"},
      {R"([{"role":"assistant","content":[{"type":"refusal","text":"a"}]}])",
       "input[0].content[0].refusal"},
      {R"([{"role":"user","content":"a"},{"type":"function_call","arguments":"{}"}])",
       "input[1].name"},
      {R"([{"type":"function_call","name":"f","arguments":7}])", "input[0].arguments"},
      {R"([{"type":"function_call","name":"f","call_id":7}])", "input[0].call_id"},
      {R"([{"type":"function_call_output","call_id":"1"}])", "input[0].output"},
      {R"([{"type":"function_call_output","call_id":"1","output":{}}])", "input[0].output"},
      {R"([{"type":"function_call_output","call_id":"1","output":[{"type":"input_image"}]}])",
       "input[0].output[0]"},
      {R"([{"type":"reasoning","summary":"s"}])", "input[0].summary"},
      {R"([{"type":"reasoning","content":[{}]}])", "input[0].content[0].text"},
      {R"([{"type":"reasoning","content":["a"]}])", "input[0].content[0]"},
      {R"([{"type":"reasoning","encrypted_content":1}])", "input[0].encrypted_content"},
      {R"([{"type":"item_reference","id":"msg_1"}])", "input[0]"},
      {R"([{"id":"msg_1"}])", "input[0]"},
      {R"([{"type":"web_search_call","id":"ws_1","status":"completed"}])", "input[0].type"},
  };
  for (const auto& [input, param] : cases) {
    const Error error = error_of(input);
    EXPECT_EQ(error.param, param) << input;
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << input;
    EXPECT_FALSE(error.message.empty());
  }
}

TEST(ResponsesInput, SaysWhyMediaAndReferencesAreRefused) {
  EXPECT_NE(error_of(R"([{"role":"user","content":[{"type":"input_image","file_id":"f"}]}])")
                .message.find("stores no files"),
            std::string::npos);
  EXPECT_NE(error_of(R"([{"id":"msg_1"}])").message.find("stores nothing"), std::string::npos);
  EXPECT_NE(error_of(R"([{"type":"mcp_call"}])").message.find("'mcp_call'"), std::string::npos);
}

}  // namespace
}  // namespace deltaserve::responses_api
