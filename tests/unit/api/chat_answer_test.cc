// Thoughts and tool calls in chat answers, streamed and whole: every case runs both ways and both
// must say the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "session_fixture.h"

namespace deltaserve {
namespace {

constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"now"}},
       {"type":"function","function":{"name":"mcp__a-b.read","parameters":{"type":"object",
         "properties":{"path":{"type":"string"},"lines":{"type":"integer"}}}}}])";

std::string call(std::string_view path) {
  return "<tool_call>\n<function=mcp__a-b.read>\n<parameter=path>\n" + std::string(path) +
         "\n</parameter>\n</function>\n</tool_call>";
}

class ChatAnswerTest : public SessionTest {
 protected:
  StreamedChoice ended(std::string_view text, std::string_view fields) {
    return run_choice(fields, steps(with_eos(text), FinishReason::kStop));
  }
  StreamedChoice cut(std::string_view text, std::string_view fields) {
    return run_choice(fields, steps(encode(text), FinishReason::kLength));
  }
  static std::string with_tools(std::string_view fields) {
    return std::string(kTools) + (fields.empty() ? "" : ",") + std::string(fields);
  }
};

constexpr std::string_view kOn = R"("enable_thinking":true)";
constexpr std::string_view kOff = R"("enable_thinking":false)";

TEST_F(ChatAnswerTest, DividesAtTheClosingToken) {
  for (const char* text : {"sum is 9</think>\n\n9", "<think>\nsum is 9\n</think>\n\n9"}) {
    const StreamedChoice answer = ended(text, kOn);
    EXPECT_EQ(answer.reasoning, "sum is 9");
    EXPECT_EQ(answer.content, "9");
    EXPECT_EQ(answer.finish_reason, "stop");
  }
}

TEST_F(ChatAnswerTest, AThoughtThatIsCutIsNoContent) {
  const StreamedChoice answer = cut("let me see", kOn);
  EXPECT_EQ(answer.reasoning, "let me see");
  EXPECT_EQ(answer.content, "");
  EXPECT_EQ(answer.finish_reason, "length");
}

TEST_F(ChatAnswerTest, AThoughtThatEndsTheAnswerIsNoContent) {
  const StreamedChoice answer = ended("a sample: user", kOn);
  EXPECT_EQ(answer.reasoning, "a sample: user");
  EXPECT_EQ(answer.content, "");
  EXPECT_EQ(answer.finish_reason, "stop");
}

TEST_F(ChatAnswerTest, WithoutThinkingAllIsContent) {
  EXPECT_EQ(ended("Berlin.", kOff).content, "Berlin.");
  EXPECT_EQ(ended("Berlin.", kOff).reasoning, "");
  const StreamedChoice disobeyed = ended("<think>\nhm\n</think>\n\n4", kOff);
  EXPECT_EQ(disobeyed.content, "4");
  EXPECT_EQ(disobeyed.reasoning, "hm");
}

TEST_F(ChatAnswerTest, TheStartFollowsThePromptNotTheSwitch) {
  const auto compiled = ChatTemplate::compile(
      "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:");
  ASSERT_TRUE(compiled);
  context_->chat_template = compiled->get();
  EXPECT_EQ(ended("Paris", kOn).content, "Paris");
  EXPECT_EQ(ended("Paris", kOn).reasoning, "");
}

TEST_F(ChatAnswerTest, ATagInTheContinuedMessageIsText) {
  const auto prepared = service_.chat(
      R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"<think>"}],
          "continue_final_message":true})");
  ASSERT_TRUE(prepared) << prepared.error().message;
  const Answer answer = run(*prepared, steps(with_eos("ok"), FinishReason::kStop));
  EXPECT_EQ(whole_text(answer), "ok");
}

TEST_F(ChatAnswerTest, CallsAreStreamedAsTheyCome) {
  const StreamedChoice answer =
      ended("Look.\n\n" + call("/tmp/a") + "\n" + call("/tmp/b"), with_tools(kOff));
  EXPECT_EQ(answer.content, "Look.");
  ASSERT_EQ(answer.calls.size(), 2U);
  EXPECT_EQ(answer.calls[0].name, "mcp__a-b.read");
  EXPECT_EQ(answer.calls[0].arguments, R"({"path":"/tmp/a"})");
  EXPECT_EQ(answer.calls[1].arguments, R"({"path":"/tmp/b"})");
  EXPECT_NE(answer.calls[0].id, answer.calls[1].id);
  EXPECT_EQ(answer.finish_reason, "tool_calls");
}

TEST_F(ChatAnswerTest, NoBlankContentBeforeACall) {
  const StreamedChoice answer = ended(
      "plan</think>\n\n<tool_call>\n<function=now>\n</function>\n</tool_call>\n", with_tools(kOn));
  EXPECT_EQ(answer.reasoning, "plan");
  EXPECT_TRUE(answer.content_deltas.empty());
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.calls[0].arguments, "{}");
  EXPECT_EQ(answer.finish_reason, "tool_calls");
}

TEST_F(ChatAnswerTest, LongArgumentsAreManyDeltas) {
  std::string lines;
  for (int i = 0; i < 500; ++i) {
    lines += "line \"" + std::to_string(i) + "\" } {\n";
  }
  const StreamedChoice answer = ended(call(lines), with_tools(kOff));
  ASSERT_EQ(answer.calls.size(), 1U);
  const auto arguments = json::parse(answer.calls[0].arguments);
  ASSERT_TRUE(arguments);
  EXPECT_EQ(std::string(arguments->at("path").as_string()), lines);
  EXPECT_GT(answer.num_argument_deltas, 500);
}

TEST_F(ChatAnswerTest, ACallInAnUnclosedThoughtIsRecovered) {
  const StreamedChoice answer = ended("need it " + call("/x"), with_tools(kOn));
  EXPECT_EQ(answer.reasoning, "need it");
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.finish_reason, "tool_calls");
  const StreamedChoice half = cut("need it <tool_call>\n<function=now>\n", with_tools(kOn));
  EXPECT_TRUE(half.calls.empty());
  EXPECT_EQ(half.finish_reason, "length");
}

TEST_F(ChatAnswerTest, ACallThatIsCutIsLeftOutOfTheWholeAnswer) {
  const std::string text = "Look. " + call("/tmp/some/long/path");
  const StreamedChoice answer = cut(text.substr(0, text.find("/path")), with_tools(kOff));
  EXPECT_EQ(answer.finish_reason, "length");
  EXPECT_EQ(answer.content, "Look.");
  ASSERT_EQ(answer.calls.size(), 1U);
  EXPECT_TRUE(answer.calls[0].arguments.starts_with(R"({"path":"/tmp/some)"));
}

TEST_F(ChatAnswerTest, ABareCallCountsOnlyIfItsNameIsDeclared) {
  const std::string bare = "I'll look.\n\n<function=now>\n</function>\n</tool_call>";
  const StreamedChoice answer = ended(bare, with_tools(kOff));
  EXPECT_EQ(answer.content, "I'll look.");
  EXPECT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(ended(bare, kOff).content, bare);
  EXPECT_TRUE(ended(bare, kOff).calls.empty());
}

TEST_F(ChatAnswerTest, ForbiddenCallsLeaveNothing) {
  const std::string fields = with_tools(std::string(kOff) + R"(,"tool_choice":"none")");
  const StreamedChoice answer = ended("So.\n" + call("/a"), fields);
  EXPECT_EQ(answer.content, "So.");
  EXPECT_TRUE(answer.calls.empty());
  EXPECT_EQ(answer.finish_reason, "stop");
  const auto prepared = service_.chat(chat(fields));
  ASSERT_TRUE(prepared);
  const auto token = context_->tokenizer->token_to_id("<tool_call>");
  EXPECT_EQ(prepared->job.requests[0].sampling.banned_token_ids, std::vector<int32_t>{*token});
}

TEST_F(ChatAnswerTest, OneCallIfTheyMayNotBeParallel) {
  const std::string fields = with_tools(std::string(kOff) + R"(,"parallel_tool_calls":false)");
  const std::vector<int32_t> ids = with_eos(call("/a") + "\n" + call("/b"));
  const Answer answer = run_chat(fields, steps(ids, FinishReason::kStop));
  const StreamedChoice streamed = read_choice(answer.chunks, 0);
  expect_same(streamed, answer.body.at("choices").at(0).as_object());
  ASSERT_EQ(streamed.calls.size(), 1U);
  EXPECT_EQ(streamed.finish_reason, "tool_calls");
  EXPECT_EQ(answer.stopped, std::vector<int32_t>{0});
  EXPECT_LT(answer.body.at("usage").at("completion_tokens").to_number<size_t>(), ids.size() / 2);
}

TEST_F(ChatAnswerTest, StopStringsSeeContentOnly) {
  const std::string fields = std::string(kOn) + R"(,"stop":["four"])";
  const StreamedChoice answer = ended("the four of them</think>\n\nThree or four or five", fields);
  EXPECT_EQ(answer.reasoning, "the four of them");
  EXPECT_EQ(answer.content, "Three or ");
  EXPECT_EQ(answer.finish_reason, "stop");
  EXPECT_EQ(answer.stop_reason, "four");
  const StreamedChoice calls =
      ended(call("/four"), with_tools(std::string(kOff) + R"(,"stop":["four"])"));
  ASSERT_EQ(calls.calls.size(), 1U);
  EXPECT_EQ(calls.calls[0].arguments, R"({"path":"/four"})");
}

TEST_F(ChatAnswerTest, TextHeldForAStopStringIsReleasedBeforeACall) {
  const StreamedChoice answer =
      ended("the fou" + call("/a") + "r", with_tools(std::string(kOff) + R"(,"stop":["four"])"));
  EXPECT_EQ(answer.content, "the four");
  EXPECT_EQ(answer.calls.size(), 1U);
  EXPECT_EQ(answer.finish_reason, "tool_calls");
}

TEST_F(ChatAnswerTest, ChoicesHaveParsersOfTheirOwn) {
  const auto zero = steps(with_eos("thought</think>\n\n" + call("/a")), FinishReason::kStop, 0);
  const auto one = steps(encode("never closed, and long enough"), FinishReason::kLength, 1);
  std::vector<RequestOutput> outputs;
  for (size_t i = 0; i < std::max(zero.size(), one.size()); ++i) {
    for (const auto* list : {&zero, &one}) {
      if (i < list->size()) {
        outputs.push_back((*list)[i]);
      }
    }
  }
  const Answer answer = run_chat(with_tools(std::string(kOn) + R"(,"n":2)"), outputs);
  const StreamedChoice first = read_choice(answer.chunks, 0);
  const StreamedChoice second = read_choice(answer.chunks, 1);
  expect_same(first, answer.body.at("choices").at(0).as_object());
  expect_same(second, answer.body.at("choices").at(1).as_object());
  EXPECT_EQ(first.reasoning, "thought");
  EXPECT_EQ(first.calls.size(), 1U);
  EXPECT_EQ(second.reasoning, "never closed, and long enough");
  EXPECT_TRUE(second.calls.empty());
}

TEST_F(ChatAnswerTest, TheServersOwnMessagesAreAccepted) {
  const std::string texts[] = {
      "because</think>\n\nText. \n" + call("/a \"b\"\n") + call("/c"),
      "because</think>\n\n" + call("/a"),
      "because</think>\n\nText.",
      "because",
  };
  for (const std::string& text : texts) {
    for (const FinishReason reason : {FinishReason::kStop, FinishReason::kLength}) {
      const Answer answer = run_chat(with_tools(kOn), steps(with_eos(text), reason));
      const json::Value& message = answer.body.at("choices").at(0).at("message");
      json::Array messages = {json::Object{{"role", "user"}, {"content", "q"}}, message};
      messages.push_back(json::Object{{"role", "tool"}, {"tool_call_id", "x"}, {"content", "r"}});
      const std::string prompt =
          prompt_of(json::serialize(json::Object{{"messages", std::move(messages)}}));
      const std::string turn = "<think>\n" + text;
      const std::string shown = turn.substr(0, turn.find("</think>"));
      EXPECT_NE(prompt.find(shown), std::string::npos) << prompt;
      const json::Value* calls = message.as_object().if_contains("tool_calls");
      size_t num_calls = 0;
      for (size_t at = 0; (at = prompt.find("<function=mcp__a-b.read>", at)) != std::string::npos;
           ++at) {
        ++num_calls;
      }
      EXPECT_EQ(num_calls, calls == nullptr ? 0 : calls->as_array().size());
    }
  }
}

TEST_F(ChatAnswerTest, ParsersCanBeChosenByTheOperator) {
  const std::string json_call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  context_->chat.tool_calls = ToolCallFormat::kJson;
  EXPECT_EQ(ended(json_call, with_tools(kOff)).calls.size(), 1U);
  context_->chat.tool_calls = ToolCallFormat::kNone;
  EXPECT_EQ(ended(json_call, with_tools(kOff)).content, json_call);
  context_->chat.split_reasoning = false;
  const StreamedChoice answer = ended("hm\n</think>\n\n4", kOn);
  EXPECT_EQ(answer.content, "hm\n</think>\n\n4");
  EXPECT_EQ(answer.reasoning, "");
}

}  // namespace
}  // namespace deltaserve
