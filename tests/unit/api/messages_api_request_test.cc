// Anthropic requests as engine requests: the same prompts and parameters as chat's, errors in this
// protocol's words.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "api_fixture.h"

namespace deltaserve {
namespace {

class MessagesApiRequestTest : public ApiTest {
 protected:
  static std::string messages(std::string_view list, std::string_view fields) {
    std::string body = R"({"messages":[)" + std::string(list) + "]";
    body += fields.empty() ? "" : ",";
    return body + std::string(fields) + "}";
  }

  static std::string hi(std::string_view fields) {
    return messages(R"({"role":"user","content":"hi"})", fields);
  }

  ApiService::Prepared prepare(std::string_view body) const {
    auto prepared = service_.messages(body);
    EXPECT_TRUE(prepared) << prepared.error().message;
    return *prepared;
  }

  std::string prompt(std::string_view body) const {
    return context_->tokenizer->decode(prepare(body).job.requests[0].prompt_token_ids, false);
  }

  Error error(std::string_view body) const {
    const auto prepared = service_.messages(body);
    EXPECT_FALSE(prepared) << body;
    return prepared ? Error{} : prepared.error();
  }

  int64_t count(std::string_view body) const {
    const auto counted = service_.count_message_tokens(body);
    EXPECT_TRUE(counted) << counted.error().message;
    return counted ? json::parse(*counted)->at("input_tokens").as_int64() : -1;
  }
};

std::string agent_request() {
  std::ifstream file(std::string(DELTASERVE_TEST_DATA) + "/api/messages_agent.json");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_F(MessagesApiRequestTest, PromptsAreChats) {
  const std::string blocks = messages(
      R"({"role":"user","content":[{"type":"text","text":"q"}]},
         {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},
           {"type":"text","text":"look"},
           {"type":"tool_use","id":"t","name":"f","input":{"city":"Ulm","n":[1]}}]},
         {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"sunny"},
           {"type":"text","text":"so?"}]})",
      R"("max_tokens":5,"system":"S","tools":[{"name":"f","description":"d",
         "input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}])");
  const std::string chat = R"({"messages":[{"role":"system","content":"S"},
      {"role":"user","content":"q"},
      {"role":"assistant","content":"look","reasoning_content":"hm","tool_calls":[
        {"id":"t","type":"function","function":{"name":"f","arguments":{"city":"Ulm","n":[1]}}}]},
      {"role":"tool","tool_call_id":"t","content":"sunny"},{"role":"user","content":"so?"}],
      "tools":[{"type":"function","function":{"name":"f","description":"d",
        "parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]})";
  EXPECT_EQ(prompt(blocks), prompt_of(chat));
}

TEST_F(MessagesApiRequestTest, ThinkingFollowsTheRequest) {
  const auto tail = [this](const char* thinking) {
    const std::string text = prompt(hi(std::string(R"("max_tokens":5)") + thinking));
    return text.substr(text.rfind("<think>"));
  };
  EXPECT_EQ(tail(""), "<think>\n");
  EXPECT_EQ(tail(R"(,"thinking":{"type":"disabled"})"), "<think>\n\n</think>\n\n");
  EXPECT_EQ(tail(R"(,"thinking":{"type":"enabled","budget_tokens":9})"), "<think>\n");
  EXPECT_EQ(tail(R"(,"thinking":{"type":"adaptive"})"), "<think>\n");
}

TEST_F(MessagesApiRequestTest, ParametersReachTheEngine) {
  const auto prepared =
      prepare(hi(R"("model":"alias","max_tokens":7,"temperature":0,"top_p":0.5,"top_k":3,"seed":4,
            "stop_sequences":["a","b","c","d","e"],"stream":true,"n":3)"));
  const SamplingParams& sampling = prepared.job.requests.at(0).sampling;
  EXPECT_EQ(sampling.max_tokens, 7);
  EXPECT_EQ(sampling.temperature, 0.0F);
  EXPECT_EQ(sampling.top_p, 0.5F);
  EXPECT_EQ(sampling.top_k, 3);
  EXPECT_EQ(sampling.seed, 4);
  EXPECT_EQ(sampling.n, 1);
  const ResponseOptions& options = prepared.job.options;
  EXPECT_EQ(options.model, "alias");
  EXPECT_TRUE(options.stream);
  EXPECT_EQ(options.stop.size(), 5);
  EXPECT_TRUE(options.id.starts_with("msg_"));
}

TEST_F(MessagesApiRequestTest, ALastAssistantMessageIsContinued) {
  const std::string text = prompt(messages(
      R"({"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text",
         "text":"Once upon "}]})",
      R"("max_tokens":5)"));
  EXPECT_TRUE(text.ends_with("Once upon ")) << text;
}

TEST_F(MessagesApiRequestTest, ErrorsNameTheClientsFields) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "max_tokens"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_tokens":5,"temperature":3)", "temperature"},
      {R"("max_tokens":5,"top_k":-2)", "top_k"},
      {R"("max_tokens":5,"tools":[{"name":"a b","input_schema":{}}])", "tools[0].name"},
      {R"("max_tokens":5,"tool_choice":{"type":"any"})", "tool_choice"},
  };
  for (const auto& [fields, param] : cases) {
    const Error found = error(hi(fields));
    EXPECT_EQ(found.param, param) << fields;
    EXPECT_NE(found.message.find(param), std::string::npos) << found.message;
  }
  EXPECT_EQ(error(hi(R"("max_tokens":5,"model":"nope")")).code, ErrorCode::kNotFound);
  EXPECT_EQ(error("[]").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ApiService("1").messages(hi(R"("max_tokens":5)")).error().code,
            ErrorCode::kUnavailable);
}

TEST_F(MessagesApiRequestTest, OverflowIsToldInTheWordsThatAgentsLookFor) {
  const int64_t tokens = count(hi(""));
  const Error answer = error(hi(R"("max_tokens":1000.0)"));
  EXPECT_EQ(answer.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(answer.message,
            "input length and `max_tokens` exceed context limit: " + std::to_string(tokens) +
                " + 1000 > 1000, decrease input length or `max_tokens` and try "
                "again");
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += "word ";
  }
  const std::string list = R"({"role":"user","content":")" + text + "\"}";
  const std::string expected =
      "prompt is too long: " + std::to_string(count(messages(list, ""))) + " tokens > 999 maximum";
  EXPECT_EQ(error(messages(list, R"("max_tokens":5)")).message, expected);
}

TEST_F(MessagesApiRequestTest, CountsAreThePromptsLength) {
  context_->max_model_len = 100000;
  for (const std::string& body : {hi(R"("max_tokens":5)"), agent_request()}) {
    EXPECT_EQ(count(body),
              static_cast<int64_t>(prepare(body).job.requests.at(0).prompt_token_ids.size()));
  }
  EXPECT_EQ(service_.count_message_tokens(hi(R"("model":"nope")")).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(service_.count_message_tokens(R"({"messages":[]})").error().param, "messages");
  EXPECT_EQ(service_.count_message_tokens(hi(R"("tools":[{"name":"a b","input_schema":{}}])"))
                .error()
                .param,
            "tools[0].name");
}

TEST_F(MessagesApiRequestTest, AnAgentsRequestKeepsAllItsParts) {
  context_->max_model_len = 100000;
  const std::string text = prompt(agent_request());
  for (const char* part :
       {"You are a coding agent that works in a terminal.", "40. Call several tools at once",
        "mcp__tickets__list-open", "NOTES.md", "how large is it?", "I read the file and ask",
        "<function=shell>", "hello world", "Error: wc: hello.txt: Permission denied",
        "The plan is empty."}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  for (const char* part : {"cache_control", "ephemeral", "c2lnbmF0dXJl", "user_0123456789abcdef"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace deltaserve
