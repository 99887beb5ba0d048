// Tokens of the model as answers of /v1/responses, streamed and whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "responses_events.h"
#include "session_fixture.h"

namespace deltaserve {
namespace {

constexpr std::string_view kTools =
    R"("tools":[{"type":"function","name":"f","parameters":{"type":"object",
       "properties":{"city":{"type":"string"}}}}])";
constexpr std::string_view kCall =
    "<tool_call>\n<function=f>\n<parameter=city>\nUlm\n</parameter>\n</function>\n</tool_call>";

class ResponsesSessionTest : public SessionTest {
 protected:
  // The stream of the outputs; the whole answer must be its last snapshot but for the ids of calls.
  ResponsesStream answer(std::string_view fields, const std::vector<RequestOutput>& outputs) {
    const auto prepared = service_.responses(fmt::format(R"({{"input":"hi",{}}})", fields));
    EXPECT_TRUE(prepared) << prepared.error().message;
    const std::string events = outcome(*prepared, outputs, true);
    ResponsesStream stream = read_responses_stream(events);
    const json::Object body = object(outcome(*prepared, outputs, false));
    EXPECT_EQ(stream.last.at("output"), stream.output);
    EXPECT_EQ(comparable(body), comparable(stream.last));
    return stream;
  }

 private:
  std::string outcome(const ApiService::Prepared& prepared,
                      const std::vector<RequestOutput>& outputs, bool stream) {
    ResponseOptions options = prepared.job.options;
    options.stream = stream;
    GenerationSession session(context_, options, prepared.job.prompts);
    std::string events;
    for (const RequestOutput& output : outputs) {
      EXPECT_FALSE(session.on_output(0, output, events).error);
    }
    EXPECT_TRUE(session.finished());
    if (!stream) {
      EXPECT_TRUE(events.empty());
      return session.body();
    }
    session.append_stream_end(events);
    return events;
  }

  static json::Object comparable(json::Object response) {
    response["completed_at"] = nullptr;
    for (json::Value& item : response.at("output").get_array()) {
      item.get_object().erase("call_id");
    }
    return response;
  }
};

TEST_F(ResponsesSessionTest, DividesThoughtTextAndCalls) {
  const std::string text = fmt::format("need it\n</think>\n\nLet me see.\n\n{}\n{}", kCall, kCall);
  const ResponsesStream stream = answer(kTools, steps(with_eos(text), FinishReason::kStop));
  ASSERT_EQ(stream.output.size(), 4U);
  EXPECT_EQ(stream.output[0].at("content").at(0).at("text"), "need it");
  EXPECT_EQ(stream.output[1].at("content").at(0).at("text"), "Let me see.");
  for (const size_t i : {2U, 3U}) {
    EXPECT_EQ(stream.output[i].at("name"), "f");
    EXPECT_EQ(object(stream.output[i].at("arguments").get_string()).at("city"), "Ulm");
  }
  EXPECT_NE(stream.output[2].at("call_id"), stream.output[3].at("call_id"));
  EXPECT_GT(stream.last.at("usage").at("output_tokens_details").at("reasoning_tokens").get_int64(),
            0);
}

TEST_F(ResponsesSessionTest, EveryCutAgreesWithItsStream) {
  const std::string text = fmt::format("hm</think>\n\nA: {} b", kCall);
  const std::vector<int32_t> ids = encode(text);
  for (size_t n = 1; n <= ids.size(); ++n) {
    const std::vector<int32_t> cut(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(n));
    const ResponsesStream stream = answer(kTools, steps(cut, FinishReason::kLength));
    EXPECT_EQ(stream.last.at("status"), "incomplete");
    EXPECT_EQ(stream.last.at("usage").at("output_tokens").get_int64(), static_cast<int64_t>(n));
  }
}

TEST_F(ResponsesSessionTest, LogprobsCoverTheTextOfMessages) {
  const std::string fields =
      fmt::format(R"("include":["message.output_text.logprobs"],"top_logprobs":1,{})", kTools);
  const std::string text = fmt::format("hm</think>\n\n\u00e9t\u00e9 \U0001F389 a\n\n{}", kCall);
  const ResponsesStream stream = answer(fields, steps(with_eos(text), FinishReason::kStop));
  const json::Value& part = stream.output.at(1).at("content").at(0);
  std::string bytes;
  for (const json::Value& entry : part.at("logprobs").get_array()) {
    for (const json::Value& byte : entry.at("bytes").get_array()) {
      bytes += static_cast<char>(byte.to_number<unsigned char>());
    }
  }
  EXPECT_TRUE(bytes.starts_with(part.at("text").get_string())) << bytes;
}

TEST_F(ResponsesSessionTest, StopStringsEndTheText) {
  const ResponsesStream stream =
      answer(R"("stop":"STOP","chat_template_kwargs":{"enable_thinking":false})",
             steps(encode("one STOP two"), FinishReason::kLength));
  EXPECT_EQ(stream.last.at("status"), "completed");
  EXPECT_EQ(stream.output.at(0).at("content").at(0).at("text"), "one ");
}

TEST_F(ResponsesSessionTest, FailsInsideTheStream) {
  std::vector<RequestOutput> outputs = steps(encode("so </think> one"), FinishReason::kLength);
  outputs.back().choices[0].finish_reason = FinishReason::kError;
  outputs.back().choices[0].error = Error{ErrorCode::kInternal, "Not finite.", "", ""};
  const auto prepared = service_.responses(R"({"input":"hi"})");
  ASSERT_TRUE(prepared);
  ResponseOptions options = prepared->job.options;
  options.stream = true;
  GenerationSession session(context_, options, prepared->job.prompts);
  std::string events;
  for (const RequestOutput& output : outputs) {
    if (const auto progress = session.on_output(0, output, events); progress.error) {
      session.append_stream_error(*progress.error, events);
    }
  }
  const ResponsesStream stream = read_responses_stream(events);
  EXPECT_EQ(stream.types().back(), "response.failed");
  EXPECT_EQ(stream.last.at("error").at("message"), "Not finite.");
}

}  // namespace
}  // namespace deltaserve
