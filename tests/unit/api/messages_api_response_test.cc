// Scripted parser events as Anthropic's answers: the stream, put together as clients do, is the
// whole answer.
#include "api/messages_api_response.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/messages_api_signature.h"

namespace deltaserve::messages_api {
namespace {

using Kind = OutputEvent::Kind;

struct Event {
  std::string name;
  json::Object data;
};

std::vector<Event> parse_events(std::string_view text) {
  std::vector<Event> events;
  while (!text.empty()) {
    const size_t end = text.find("\n\n");
    EXPECT_NE(end, std::string_view::npos);
    const std::string_view event = text.substr(0, end);
    text.remove_prefix(end + 2);
    const size_t line = event.find("\ndata: ");
    EXPECT_TRUE(event.starts_with("event: ") && line != std::string_view::npos) << event;
    auto data = json::parse(event.substr(line + 7));
    EXPECT_TRUE(data) << event;
    events.push_back({std::string(event.substr(7, line - 7)), data->get_object()});
    EXPECT_EQ(events.back().data.at("type"), json::Value(events.back().name));
  }
  return events;
}

void append(json::Value& text, const json::Value& piece) {
  text = std::string(text.get_string()) + std::string(piece.get_string());
}

// What a client makes of a stream; checks the order of events on the way.
class Accumulator {
 public:
  void add(const Event& event) {
    if (event.name == "message_start") {
      EXPECT_TRUE(message.empty());
      message = event.data.at("message").get_object();
    } else if (event.name == "content_block_start") {
      start(event.data);
    } else if (event.name == "content_block_delta") {
      take(event.data);
    } else if (event.name == "content_block_stop") {
      stop(event.data);
    } else if (event.name == "message_delta") {
      EXPECT_FALSE(open_);
      message["stop_reason"] = event.data.at("delta").at("stop_reason");
      message["stop_sequence"] = event.data.at("delta").at("stop_sequence");
      message["usage"] = event.data.at("usage");
    } else {
      EXPECT_EQ(event.name, "message_stop");
      ended = true;
    }
  }

  json::Object message;
  bool ended = false;

 private:
  json::Array& content() { return message["content"].get_array(); }

  void start(const json::Object& data) {
    EXPECT_FALSE(std::exchange(open_, true));
    EXPECT_EQ(data.at("index"), content().size());
    content().push_back(data.at("content_block"));
    input_.clear();
  }

  void take(const json::Object& data) {
    ASSERT_TRUE(open_);
    EXPECT_EQ(data.at("index"), content().size() - 1);
    json::Object& block = content().back().get_object();
    const json::Object& delta = data.at("delta").get_object();
    const std::string type(delta.at("type").get_string());
    if (type == "text_delta") {
      append(block["text"], delta.at("text"));
    } else if (type == "thinking_delta") {
      append(block["thinking"], delta.at("thinking"));
    } else if (type == "signature_delta") {
      block["signature"] = delta.at("signature");
    } else {
      EXPECT_EQ(type, "input_json_delta");
      EXPECT_TRUE(block["input"].get_object().empty());
      input_ += delta.at("partial_json").get_string().c_str();
    }
  }

  void stop(const json::Object& data) {
    EXPECT_TRUE(std::exchange(open_, false));
    EXPECT_EQ(data.at("index"), content().size() - 1);
    if (const auto input = json::parse(input_)) {
      content().back().get_object()["input"] = *input;
    }
  }

  std::string input_;
  bool open_ = false;
};

struct Answer {
  std::vector<Event> events;
  json::Object streamed;
  json::Object whole;
};

const Usage kUsage{20, 9, 4, 12};

// Each event is a delta of its own.
Answer run(const std::vector<OutputEvent>& script, const ChoiceEnd& end,
           bool omit_thinking = false) {
  ResponseOptions options;
  options.id = "msg_1";
  options.model = "a \"model\"";
  MessagesResponse response(options, omit_thinking);
  CollectedChoice collected;
  std::string out;
  response.start_choice(0, {}, kUsage, out);
  for (const OutputEvent& event : script) {
    ChoiceDelta delta;
    delta.events = {event};
    response.append_delta(0, delta, kUsage, out);
    collected.sum.append(std::move(delta));
  }
  response.end_choice(0, end, {}, kUsage, out);
  response.end_stream(kUsage, out);
  Answer answer;
  answer.events = parse_events(out);
  Accumulator accumulator;
  for (const Event& event : answer.events) {
    accumulator.add(event);
  }
  EXPECT_TRUE(accumulator.ended);
  answer.streamed = accumulator.message;
  collected.end = end;
  MessagesResponse writer(options, omit_thinking);
  const auto body = json::parse(writer.body({collected}, kUsage));
  EXPECT_TRUE(body);
  answer.whole = body->get_object();
  return answer;
}

OutputEvent call(int32_t index, const std::string& id, const std::string& name) {
  return {Kind::kToolCallBegin, index, {}, id, name};
}

const std::vector<OutputEvent> kAgentTurn = {
    {Kind::kReasoning, 0, "let me ", {}, {}},
    {Kind::kReasoning, 0, "see", {}, {}},
    {Kind::kContent, 0, "I'll ", {}, {}},
    {Kind::kContent, 0, "\"look\".", {}, {}},
    call(0, "call_abc", "f"),
    {Kind::kArguments, 0, "{\"city\":\"Ul", {}, {}},
    {Kind::kArguments, 0, "m\"}", {}, {}},
    {Kind::kToolCallEnd, 0, {}, {}, {}},
    call(1, "call_def", "g"),
    {Kind::kArguments, 1, "{}", {}, {}},
    {Kind::kToolCallEnd, 1, {}, {}, {}},
};

TEST(MessagesApiResponse, WholeAndStreamedAnswersAreEqual) {
  const Answer answer = run(kAgentTurn, {ChoiceFinish::kToolCalls, {}});
  EXPECT_EQ(answer.streamed, answer.whole);
  EXPECT_EQ(json::serialize(answer.whole.at("content")),
            R"([{"type":"thinking","thinking":"let me see","signature":")" +
                signature_of("let me see") +
                R"("},{"type":"text","text":"I'll \"look\"."},)"
                R"({"type":"tool_use","id":"toolu_abc","name":"f","input":{"city":"Ulm"}},)"
                R"({"type":"tool_use","id":"toolu_def","name":"g","input":{}}])");
  EXPECT_EQ(answer.whole.at("id"), "msg_1");
  EXPECT_EQ(answer.whole.at("type"), "message");
  EXPECT_EQ(answer.whole.at("role"), "assistant");
  EXPECT_EQ(answer.whole.at("model"), "a \"model\"");
  EXPECT_EQ(answer.whole.at("stop_reason"), "tool_use");
  EXPECT_TRUE(answer.whole.at("stop_sequence").is_null());
}

TEST(MessagesApiResponse, EventsComeInTheProtocolsOrder) {
  const Answer answer = run(kAgentTurn, {ChoiceFinish::kToolCalls, {}});
  std::string order;
  for (const Event& event : answer.events) {
    order += event.name.substr(event.name.rfind('_') + 1) + " ";
  }
  EXPECT_EQ(order,
            "start "
            "start delta delta delta stop "  // the third delta is the signature
            "start delta delta stop "
            "start delta delta stop "
            "start delta stop "
            "delta stop ");
  const json::Object& start = answer.events[0].data.at("message").get_object();
  EXPECT_TRUE(start.at("content").get_array().empty());
  EXPECT_TRUE(start.at("stop_reason").is_null());
  EXPECT_EQ(answer.events[4].data.at("delta").at("type"), "signature_delta");
}

TEST(MessagesApiResponse, InputTokensAreThoseThatNoCacheHeld) {
  const Answer answer = run({{Kind::kContent, 0, "a", {}, {}}}, {});
  for (const json::Object* usage :
       {&answer.whole.at("usage").get_object(),
        &answer.events[0].data.at("message").at("usage").get_object()}) {
    EXPECT_EQ(usage->at("input_tokens"), 8);
    EXPECT_EQ(usage->at("cache_read_input_tokens"), 12);
    EXPECT_EQ(usage->at("cache_creation_input_tokens"), 0);
  }
  EXPECT_EQ(answer.whole.at("usage").at("output_tokens"), 9);
  EXPECT_EQ(answer.whole.at("usage").at("output_tokens_details").at("thinking_tokens"), 4);
}

TEST(MessagesApiResponse, StopReasonsHaveAnthropicsNames) {
  const auto reason = [](ChoiceEnd end) {
    const Answer answer = run({{Kind::kContent, 0, "a", {}, {}}}, end);
    EXPECT_EQ(answer.streamed, answer.whole);
    return json::serialize(answer.whole.at("stop_reason")) + " " +
           json::serialize(answer.whole.at("stop_sequence"));
  };
  EXPECT_EQ(reason({ChoiceFinish::kStop, {}}), R"("end_turn" null)");
  EXPECT_EQ(reason({ChoiceFinish::kStop, int32_t{7}}), R"("end_turn" null)");
  EXPECT_EQ(reason({ChoiceFinish::kStop, std::string("\"X\"")}), R"("stop_sequence" "\"X\"")");
  EXPECT_EQ(reason({ChoiceFinish::kLength, {}}), R"("max_tokens" null)");
  EXPECT_EQ(reason({ChoiceFinish::kToolCalls, {}}), R"("tool_use" null)");
}

TEST(MessagesApiResponse, AnAnswerMayBeEmpty) {
  const Answer answer = run({}, {});
  EXPECT_EQ(answer.streamed, answer.whole);
  EXPECT_TRUE(answer.whole.at("content").get_array().empty());
}

TEST(MessagesApiResponse, TextBetweenCallsKeepsItsPlace) {
  const Answer answer = run({call(0, "call_1", "f"),
                             {Kind::kArguments, 0, "{}", {}, {}},
                             {Kind::kToolCallEnd, 0, {}, {}, {}},
                             {Kind::kContent, 0, "and", {}, {}},
                             call(1, "call_2", "f"),
                             {Kind::kArguments, 1, "{}", {}, {}},
                             {Kind::kToolCallEnd, 1, {}, {}, {}}},
                            {ChoiceFinish::kToolCalls, {}});
  EXPECT_EQ(answer.streamed, answer.whole);
  EXPECT_EQ(answer.whole.at("content").at(1).at("text"), "and");
}

TEST(MessagesApiResponse, ACutCallIsStreamedButNotPartOfTheWholeAnswer) {
  const Answer answer = run({{Kind::kContent, 0, "hm", {}, {}},
                             call(0, "call_1", "f"),
                             {Kind::kArguments, 0, "{\"a\":\"b", {}, {}}},
                            {ChoiceFinish::kLength, {}});
  EXPECT_EQ(answer.streamed.at("content").get_array().size(), 2);
  EXPECT_EQ(answer.whole.at("content").get_array().size(), 1);
  EXPECT_EQ(answer.streamed.at("stop_reason"), "max_tokens");
  EXPECT_EQ(answer.whole.at("stop_reason"), "max_tokens");
}

TEST(MessagesApiResponse, AnOmittedThoughtIsInItsSignature) {
  const Answer answer = run(kAgentTurn, {ChoiceFinish::kToolCalls, {}}, true);
  EXPECT_EQ(answer.streamed, answer.whole);
  const json::Value& block = answer.whole.at("content").at(0);
  EXPECT_EQ(block.at("thinking"), "");
  EXPECT_EQ(thought_in(std::string(block.at("signature").get_string())), "let me see");
}

TEST(MessagesApiResponse, ErrorsHaveAnthropicsShape) {
  ResponseOptions options;
  options.request_id = "req_1";
  MessagesResponse response(options, false);
  const std::pair<ErrorCode, const char*> types[] = {
      {ErrorCode::kInvalidArgument, "invalid_request_error"},
      {ErrorCode::kUnauthorized, "authentication_error"},
      {ErrorCode::kNotFound, "not_found_error"},
      {ErrorCode::kMethodNotAllowed, "invalid_request_error"},
      {ErrorCode::kPayloadTooLarge, "request_too_large"},
      {ErrorCode::kUnsupportedMediaType, "invalid_request_error"},
      {ErrorCode::kTooManyRequests, "rate_limit_error"},
      {ErrorCode::kInternal, "api_error"},
      {ErrorCode::kUnavailable, "overloaded_error"},
  };
  for (const auto& [code, type] : types) {
    EXPECT_EQ(response.error_body({code, "no \"x\"", "p", "c"}),
              std::string(R"({"type":"error","error":{"type":")") + type +
                  R"(","message":"no \"x\""},"request_id":"req_1"})");
  }
  std::string out;
  response.append_error({ErrorCode::kInternal, "broken", "", ""}, out);
  EXPECT_EQ(out,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\","
            "\"message\":\"broken\"},\"request_id\":\"req_1\"}\n\n");
}

}  // namespace
}  // namespace deltaserve::messages_api
