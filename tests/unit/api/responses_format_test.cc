// Scripted deltas as a stream of /v1/responses events and as one response object.
#include "api/responses_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_fixture.h"
#include "responses_events.h"

namespace deltaserve {
namespace {

using ::testing::ElementsAre;
using Kind = OutputEvent::Kind;

OutputEvent text_event(Kind kind, std::string text) {
  return {kind, 0, std::move(text), {}, {}};
}

ChoiceDelta delta_of(std::vector<OutputEvent> events) {
  ChoiceDelta delta;
  delta.events = std::move(events);
  return delta;
}

ChoiceDelta thought(std::string text) {
  return delta_of({text_event(Kind::kReasoning, std::move(text))});
}

ChoiceDelta content(std::string text) {
  return delta_of({text_event(Kind::kContent, std::move(text))});
}

ChoiceDelta begin_call(std::string id, std::string name) {
  return delta_of({{Kind::kToolCallBegin, 0, {}, std::move(id), std::move(name)}});
}

ChoiceDelta arguments(std::string text) {
  return delta_of({text_event(Kind::kArguments, std::move(text))});
}

ChoiceDelta end_call() {
  return delta_of({text_event(Kind::kToolCallEnd, {})});
}

class ResponsesFormatTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    options_.id = "resp_0a";
    options_.model = "tiny";
    options_.created = 1700000000;
    settings_.repeated = R"("store":false)";
  }

  // The stream of these deltas; the response object must be the same as its last snapshot.
  ResponsesStream run(const std::vector<ChoiceDelta>& deltas, ChoiceFinish finish) {
    ResponsesFormat format(*context_->tokenizer, options_, settings_);
    ResponsesFormat whole(*context_->tokenizer, options_, settings_);
    const ChoiceEnd end{finish, {}};
    std::string text;
    CollectedChoice choice;
    choice.end = end;
    format.start_choice(0, {}, usage_, text);
    for (const ChoiceDelta& delta : deltas) {
      format.append_delta(0, delta, usage_, text);
      choice.sum.append(delta);
    }
    format.end_choice(0, end, {}, usage_, text);
    format.end_stream(usage_, text);
    ResponsesStream stream = read_responses_stream(text);
    json::Object body = object(whole.body({choice}, usage_));
    EXPECT_EQ(stream.last.at("output"), stream.output);
    // The stream may have been written in the second before.
    EXPECT_EQ(body.at("completed_at").is_null(), stream.last.at("completed_at").is_null());
    body["completed_at"] = stream.last.at("completed_at");
    EXPECT_EQ(body, stream.last);
    return stream;
  }

  ResponseOptions options_;
  responses_api::Settings settings_;
  Usage usage_{10, 7, 4, 3};
};

TEST_F(ResponsesFormatTest, WritesTheEventsOfText) {
  const ResponsesStream stream = run({content("Hel"), content("lo")}, ChoiceFinish::kStop);
  EXPECT_THAT(
      stream.types(),
      ElementsAre("response.created", "response.in_progress", "response.output_item.added",
                  "response.content_part.added", "response.output_text.delta",
                  "response.output_text.delta", "response.output_text.done",
                  "response.content_part.done", "response.output_item.done", "response.completed"));
  EXPECT_EQ(json::serialize(stream.events[4]),
            R"({"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_0a_0",)"
            R"("output_index":0,"content_index":0,"delta":"Hel","logprobs":[]})");
  EXPECT_EQ(json::serialize(stream.output),
            R"([{"id":"msg_0a_0","type":"message","status":"completed","role":"assistant",)"
            R"("content":[{"type":"output_text","text":"Hello","annotations":[],)"
            R"("logprobs":[]}]}])");
}

TEST_F(ResponsesFormatTest, WritesTheResponseObject) {
  const json::Object response = run({content("a")}, ChoiceFinish::kStop).last;
  EXPECT_EQ(response.at("id"), "resp_0a");
  EXPECT_EQ(response.at("object"), "response");
  EXPECT_EQ(response.at("created_at"), 1700000000);
  EXPECT_GE(response.at("completed_at").get_int64(), 1700000000);
  EXPECT_EQ(response.at("status"), "completed");
  EXPECT_EQ(response.at("model"), "tiny");
  EXPECT_EQ(response.at("store"), false);
  EXPECT_TRUE(response.at("error").is_null() && response.at("incomplete_details").is_null());
  EXPECT_EQ(json::serialize(response.at("usage")),
            R"({"input_tokens":10,"input_tokens_details":{"cached_tokens":3,)"
            R"("cache_write_tokens":0},"output_tokens":7,"output_tokens_details":)"
            R"({"reasoning_tokens":4},"total_tokens":17})");
}

TEST_F(ResponsesFormatTest, BeginsWithEmptySnapshots) {
  const ResponsesStream stream = run({content("a")}, ChoiceFinish::kStop);
  for (const size_t i : {0U, 1U}) {
    const json::Object& response = stream.events[i].at("response").get_object();
    EXPECT_EQ(response.at("status"), "in_progress");
    EXPECT_TRUE(response.at("output").get_array().empty());
    EXPECT_TRUE(response.at("usage").is_null() && response.at("completed_at").is_null());
  }
}

TEST_F(ResponsesFormatTest, WritesThoughtTextAndCalls) {
  const ResponsesStream stream =
      run({thought("Hm"), thought("."), content("Look:"), begin_call("call_1", "f"),
           arguments("{\"a\":"), arguments("1}"), end_call(), begin_call("call_2", "g"),
           arguments("{}"), end_call()},
          ChoiceFinish::kToolCalls);
  EXPECT_EQ(json::serialize(stream.output),
            R"([{"id":"rs_0a_0","type":"reasoning","status":"completed","summary":[],)"
            R"("content":[{"type":"reasoning_text","text":"Hm."}]},)"
            R"({"id":"msg_0a_1","type":"message","status":"completed","role":"assistant",)"
            R"("content":[{"type":"output_text","text":"Look:","annotations":[],"logprobs":[]}]},)"
            R"({"id":"fc_0a_2","type":"function_call","status":"completed","call_id":"call_1",)"
            R"("name":"f","arguments":"{\"a\":1}"},)"
            R"({"id":"fc_0a_3","type":"function_call","status":"completed","call_id":"call_2",)"
            R"("name":"g","arguments":"{}"}])");
  EXPECT_EQ(stream.last.at("status"), "completed");
}

TEST_F(ResponsesFormatTest, WritesTheEventsOfThoughtAndCall) {
  const ResponsesStream stream =
      run({thought("r"), begin_call("call_1", "f"), arguments("{}"), end_call()},
          ChoiceFinish::kToolCalls);
  EXPECT_THAT(
      stream.types(),
      ElementsAre("response.created", "response.in_progress", "response.output_item.added",
                  "response.content_part.added", "response.reasoning_text.delta",
                  "response.reasoning_text.done", "response.content_part.done",
                  "response.output_item.done", "response.output_item.added",
                  "response.function_call_arguments.delta", "response.function_call_arguments.done",
                  "response.output_item.done", "response.completed"));
  EXPECT_EQ(json::serialize(stream.events[8].at("item")),
            R"({"id":"fc_0a_1","type":"function_call","status":"in_progress",)"
            R"("call_id":"call_1","name":"f","arguments":""})");
  EXPECT_EQ(json::serialize(stream.events[10]),
            R"({"type":"response.function_call_arguments.done","sequence_number":10,)"
            R"("item_id":"fc_0a_1","output_index":1,"name":"f","arguments":"{}"})");
}

TEST_F(ResponsesFormatTest, TextBehindACallIsAnItemOfItsOwn) {
  const ResponsesStream stream =
      run({content("a"), begin_call("call_1", "f"), arguments("{}"), end_call(), content("b")},
          ChoiceFinish::kToolCalls);
  ASSERT_EQ(stream.output.size(), 3U);
  EXPECT_EQ(stream.output[2].at("id"), "msg_0a_2");
  EXPECT_EQ(stream.output[2].at("content").at(0).at("text"), "b");
}

TEST_F(ResponsesFormatTest, SaysWhatTheLimitCut) {
  const json::Object text = run({thought("r"), content("a")}, ChoiceFinish::kLength).last;
  EXPECT_EQ(text.at("status"), "incomplete");
  EXPECT_EQ(text.at("incomplete_details").at("reason"), "max_output_tokens");
  EXPECT_TRUE(text.at("completed_at").is_null());
  EXPECT_EQ(text.at("output").at(0).at("status"), "completed");
  EXPECT_EQ(text.at("output").at(1).at("status"), "incomplete");

  const ResponsesStream call =
      run({begin_call("call_1", "f"), arguments("{\"a\":")}, ChoiceFinish::kLength);
  EXPECT_EQ(call.output.at(0).at("status"), "incomplete");
  EXPECT_EQ(call.output.at(0).at("arguments"), "{\"a\":");
  EXPECT_THAT(call.types(),
              ::testing::Not(::testing::Contains("response.function_call_arguments.done")));
  EXPECT_EQ(call.types().back(), "response.incomplete");

  const json::Object after =
      run({begin_call("call_1", "f"), arguments("{}"), end_call()}, ChoiceFinish::kLength).last;
  EXPECT_EQ(after.at("status"), "incomplete");
  EXPECT_EQ(after.at("output").at(0).at("status"), "completed");
}

TEST_F(ResponsesFormatTest, ACallThatIsNotWholeIsNeverCompleted) {
  const ResponsesStream stream =
      run({begin_call("call_1", "f"), arguments("{\"a\":")}, ChoiceFinish::kStop);
  EXPECT_EQ(stream.output.at(0).at("status"), "incomplete");
}

TEST_F(ResponsesFormatTest, AnAnswerWithoutTextHasNoItems) {
  const ResponsesStream stream = run({}, ChoiceFinish::kStop);
  EXPECT_THAT(stream.types(),
              ElementsAre("response.created", "response.in_progress", "response.completed"));
  EXPECT_TRUE(stream.last.at("output").get_array().empty());
}

TEST_F(ResponsesFormatTest, CarriesTheThoughtOnRequest) {
  settings_.carry_reasoning = true;
  const ResponsesStream stream = run({thought("r"), content("a")}, ChoiceFinish::kStop);
  EXPECT_EQ(stream.output.at(0).at("encrypted_content"), "deltaserve:r");
}

LogprobEntry entry(int32_t token, size_t begin, size_t end) {
  LogprobEntry out;
  out.token = token;
  out.logprob = -0.5F;
  out.top = {{token, -0.5F}};
  out.content_begin = begin;
  out.content_end = end;
  return out;
}

TEST_F(ResponsesFormatTest, LogprobsGoWithTheTextOfTheirItem) {
  ChoiceDelta think = thought("r");
  think.logprobs = {entry(10, 0, 0)};
  ChoiceDelta first = content("ab");
  first.logprobs = {entry(11, 0, 1), entry(12, 1, 2)};
  ChoiceDelta second = content("c");
  second.logprobs = {entry(13, 2, 3), entry(14, 3, 3)};
  const ResponsesStream stream =
      run({think, first, begin_call("call_1", "f"), arguments("{}"), end_call(), second},
          ChoiceFinish::kToolCalls);
  const json::Array& before = stream.output.at(1).at("content").at(0).at("logprobs").get_array();
  const json::Array& after = stream.output.at(3).at("content").at(0).at("logprobs").get_array();
  EXPECT_EQ(before.size(), 2U);
  EXPECT_EQ(after.size(), 1U);
  EXPECT_EQ(before.at(0).at("token").get_string(), context_->tokenizer->decode({11}, false));
  EXPECT_EQ(after.at(0).at("token").get_string(), context_->tokenizer->decode({13}, false));
  EXPECT_EQ(after.at(0).at("top_logprobs").get_array().size(), 1U);
}

TEST_F(ResponsesFormatTest, FailsWithTwoEvents) {
  ResponsesFormat format(*context_->tokenizer, options_, settings_);
  std::string text;
  format.start_choice(0, {}, usage_, text);
  format.append_delta(0, content("a"), usage_, text);
  format.append_error({ErrorCode::kInternal, "The model failed.", "", ""}, text);
  const ResponsesStream stream = read_responses_stream(text);
  const std::vector<std::string> types = stream.types();
  EXPECT_EQ(types[types.size() - 2], "error");
  EXPECT_EQ(types.back(), "response.failed");
  EXPECT_EQ(json::serialize(stream.events[stream.events.size() - 2]),
            R"({"type":"error","sequence_number":8,"code":"server_error",)"
            R"("message":"The model failed.","param":null})");
  EXPECT_EQ(stream.last.at("status"), "failed");
  EXPECT_EQ(json::serialize(stream.last.at("error")),
            R"({"code":"server_error","message":"The model failed."})");
  EXPECT_EQ(stream.last.at("output").at(0).at("status"), "incomplete");
}

TEST_F(ResponsesFormatTest, AFailureBeforeTheFirstTokenStillBeginsAsResponses) {
  ResponsesFormat format(*context_->tokenizer, options_, settings_);
  std::string text;
  format.append_error({ErrorCode::kUnavailable, "Shutting down.", "", ""}, text);
  EXPECT_THAT(read_responses_stream(text).types(),
              ElementsAre("response.created", "response.in_progress", "error", "response.failed"));
  EXPECT_EQ(
      object(format.error_body({ErrorCode::kInternal, "m", "", ""})).at("error").at("message"),
      "m");
}

}  // namespace
}  // namespace deltaserve
