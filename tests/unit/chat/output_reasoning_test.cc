// Faults of the split into thought and content that users reported of servers (kinds F01 to F17),
// each run whole, in pieces and token by token.
#include <gtest/gtest.h>

#include "output_case.h"
#include "text/stop_matcher.h"

namespace deltaserve {
namespace {

using namespace testing_output;  // NOLINT: helpers of these tests

const std::string kClock = tools_json({{"get_time", R"({"type":"object","properties":{}})"}});

Case thinking(const std::string& tools = "") {
  return {.start = OutputStart::kReasoning, .tools = tools};
}
Case direct(const std::string& tools = "") {
  return {.start = OutputStart::kAfterThought, .tools = tools};
}

TEST(OutputStart, FollowsTheRenderedPrompt) {
  EXPECT_EQ(output_start("<|im_start|>assistant\n<think>\n"), OutputStart::kReasoning);
  EXPECT_EQ(output_start("<|im_start|>assistant\n<think>\n\n</think>\n\n"),
            OutputStart::kAfterThought);
  EXPECT_EQ(output_start("<|im_start|>assistant\n"), OutputStart::kContent);
  EXPECT_EQ(output_start(""), OutputStart::kContent);
}

TEST(OutputReasoning, OpenerIsInThePrompt) {
  for (const char* text : {"sum is 9</think>\n\n9", "<think>\nsum is 9</think>\n\n9",
                           "\n<think>\n\nsum is 9\n\n</think>9"}) {
    const Outcome outcome = run_all(thinking(), text);
    EXPECT_EQ(outcome.reasoning, "sum is 9");
    EXPECT_EQ(outcome.content, "9");
    EXPECT_EQ(outcome.message.at("reasoning"), outcome.message.at("reasoning_content"));
  }
}

TEST(OutputReasoning, CutInsideTheThought) {
  Case tested = thinking();
  tested.end = OutputEnd::kLength;
  const Outcome outcome = run_all(tested, "let me see");
  EXPECT_EQ(outcome.reasoning, "let me see");
  EXPECT_EQ(outcome.content, "");
  EXPECT_EQ(outcome.finish_reason, "length");
}

TEST(OutputReasoning, NoThoughtAtAll) {
  for (const OutputStart start : {OutputStart::kAfterThought, OutputStart::kContent}) {
    Case tested = direct();
    tested.start = start;
    const Outcome outcome = run_all(tested, "Berlin, \xC3\xA9t\xC3\xA9.\n");
    EXPECT_EQ(outcome.content, "Berlin, \xC3\xA9t\xC3\xA9.\n");
    EXPECT_FALSE(outcome.message.contains("reasoning_content"));
    EXPECT_EQ(outcome.finish_reason, "stop");
  }
}

TEST(OutputReasoning, TextWithoutThoughtsIsVerbatim) {
  Case tested = direct();
  tested.start = OutputStart::kContent;
  EXPECT_EQ(run_all(tested, "\n\n x \n").content, "\n\n x \n");
  EXPECT_EQ(run_all(tested, " \n").content, " \n");
}

TEST(OutputReasoning, DisobeyingModelThinksAtTheStart) {
  const Outcome outcome = run_all(direct(), "<think>\nhm\n</think>\n\n4");
  EXPECT_EQ(outcome.content, "4");
  EXPECT_EQ(outcome.reasoning, "hm");
}

TEST(OutputReasoning, LoneCloserIsNotShown) {
  const Outcome outcome = run_all(direct(), "hm</think>4");
  EXPECT_EQ(outcome.content, "hm4");
  EXPECT_EQ(outcome.reasoning, "");
}

TEST(OutputReasoning, TagsLaterInContentAreText) {
  EXPECT_EQ(run_all(direct(), "A <think> B END").content, "A <think> B END");
  EXPECT_EQ(run_all(direct(), "A <think> B </think> END").content, "A <think> B </think> END");
  EXPECT_EQ(run_all(direct(), "A <tool_call> B</tool_call>").content,
            "A <tool_call> B</tool_call>");
}

TEST(OutputReasoning, OnlyTheTokenEndsAThought) {
  OutputParser parser(OutputOptions{.start = OutputStart::kReasoning, .tools = nullptr});
  OutputMessage message;
  message.add(parser.push_text("the tag </think> is"));
  message.add(parser.push_text(" text"));
  message.add(parser.push_control(ControlToken::kThinkClose));
  message.add(parser.push_text("<think>done</think>"));
  message.add(parser.finish(OutputEnd::kStop));
  EXPECT_EQ(message.reasoning(), "the tag </think> is text");
  EXPECT_EQ(message.content(), "<think>done</think>");
}

TEST(OutputReasoning, SecondCloserIsNotShown) {
  const Outcome outcome = run_all(thinking(), "plan</think>\n</think>\n\nanswer");
  EXPECT_EQ(outcome.reasoning, "plan");
  EXPECT_EQ(outcome.content, "answer");
}

TEST(OutputReasoning, BlanksBeforeACallAreNotContent) {
  const Outcome outcome = run_all(thinking(kClock), "plan</think>\n\n" + call("get_time"));
  EXPECT_EQ(outcome.reasoning, "plan");
  EXPECT_TRUE(outcome.message.at("content").is_null());
  EXPECT_EQ(outcome.whole, std::vector<std::string>{"get_time{}"});
  for (const OutputEvent& event : outcome.events) {
    EXPECT_NE(event.kind, OutputEvent::Kind::kContent);
  }
}

TEST(OutputReasoning, CallInsideTheThought) {
  const Outcome recovered = run_all(thinking(kClock), "need time " + call("get_time") + "\n");
  EXPECT_EQ(recovered.reasoning, "need time");
  EXPECT_EQ(recovered.whole, std::vector<std::string>{"get_time{}"});
  EXPECT_EQ(recovered.finish_reason, "tool_calls");

  const std::string twice = call("get_time") + "\n" + call("get_time");
  EXPECT_EQ(run_all(thinking(kClock), twice).whole.size(), 2U);
}

TEST(OutputReasoning, CallInsideTheThoughtThatIsNotTheEnd) {
  for (const std::string& text :
       {"say " + call("get_time") + " or so", "say " + call("other"),
        std::string("say <tool_call>\n<function=get_time>"), std::string("a <tool_call> b"),
        "say " + call("get_time") + call("other")}) {
    const Outcome outcome = run_all(thinking(kClock), text);
    EXPECT_EQ(outcome.reasoning, text);
    EXPECT_TRUE(outcome.calls.empty());
    EXPECT_EQ(outcome.finish_reason, "stop");
    const Outcome closed = run_all(thinking(kClock), text + "</think>ok");
    EXPECT_EQ(closed.reasoning, text);
    EXPECT_EQ(closed.content, "ok");
  }
}

// Counting all of them with every character would take minutes here.
TEST(OutputReasoning, BlanksBehindACallTokenInTheThoughtTakeLinearTime) {
  std::vector<std::string> pieces = {"hm ", "<tool_call>"};
  pieces.insert(pieces.end(), 1'000'000, "\n");
  pieces.emplace_back("x</think>ok");
  const Outcome outcome = run_pieces(thinking(kClock), pieces);
  EXPECT_EQ(outcome.content, "ok");
  EXPECT_EQ(outcome.reasoning, "hm <tool_call>" + std::string(1'000'000, '\n') + "x");
}

TEST(OutputReasoning, StopStringsSeeContentOnly) {
  const Outcome outcome = run_all(thinking(), "the four of them</think>\n\nthree four five");
  StopMatcher matcher({"four"});
  EXPECT_EQ(outcome.reasoning, "the four of them");
  EXPECT_EQ(matcher.push(outcome.content).text, "three ");
}

TEST(OutputReasoning, NoRestOfTheTag) {
  const Outcome outcome = run_all(thinking(), "e.\xC2\xA6\n</think\xC2\xA6>{\xC2\xA6\"l\":1}");
  EXPECT_EQ(outcome.reasoning, "e.");
  EXPECT_EQ(outcome.content, "{\"l\":1}");
}

TEST(OutputReasoning, EndInsideTheThought) {
  const Outcome outcome = run_all(thinking(), "a sample is\nuser: x");
  EXPECT_EQ(outcome.reasoning, "a sample is\nuser: x");
  EXPECT_EQ(outcome.message.at("content"), "");
  EXPECT_EQ(outcome.finish_reason, "stop");
}

TEST(OutputReasoning, ThoughtsGoOutBeforeTheyEnd) {
  OutputParser parser(OutputOptions{.start = OutputStart::kReasoning, .tools = nullptr});
  EXPECT_EQ(parser.push_text("one").size(), 1U);
  EXPECT_EQ(parser.push_text(" two").at(0).text, " two");
}

}  // namespace
}  // namespace deltaserve
