// The {"name", "arguments"} syntax of tool calls.
#include <gtest/gtest.h>

#include "output_case.h"

namespace deltaserve {
namespace {

using namespace testing_output;  // NOLINT: helpers of these tests
using Texts = std::vector<std::string>;

const Case kCase{
    .format = ToolCallFormat::kJson,
    .tools = tools_json({{"f", R"({"type":"object","properties":{"a":{"type":"string"}}})"}})};

std::string in_call(const std::string& body) {
  return "<tool_call>\n" + body + "\n</tool_call>";
}

TEST(OutputJsonCalls, FormatFollowsTheTemplate) {
  EXPECT_EQ(tool_call_format("... <function=name> ..."), ToolCallFormat::kXml);
  EXPECT_EQ(tool_call_format("... <tool_call> ..."), ToolCallFormat::kJson);
}

TEST(OutputJsonCalls, ArgumentsKeepTheirSpelling) {
  const std::string arguments = R"({"a": "x}\"{\n\u00e9", "b": [1.50, {"c": null}]})";
  const Outcome outcome =
      run_all(kCase, "Ok.\n" + in_call(R"({"name": "f", "arguments": )" + arguments + "}"));
  EXPECT_EQ(outcome.whole, Texts{"f" + arguments});
  EXPECT_EQ(outcome.content, "Ok.");
  EXPECT_EQ(outcome.finish_reason, "tool_calls");
}

TEST(OutputJsonCalls, OtherForms) {
  EXPECT_EQ(run_all(kCase, in_call(R"({"arguments": {"a": "1"}, "name": "f"})")).whole,
            Texts{R"(f{"a":"1"})"});
  EXPECT_EQ(run_all(kCase, in_call(R"({"name": "f"})")).whole, Texts{"f{}"});
  EXPECT_EQ(run_all(kCase, in_call(R"({"name": "f", "arguments": {}})")).whole, Texts{"f{}"});
  EXPECT_EQ(run_all(kCase, in_call(R"({"name": "f", "arguments": null})")).whole, Texts{"f{}"});
  EXPECT_EQ(run_all(kCase, in_call(R"({"name": "f", "arguments": "{\"a\":2}"})")).whole,
            Texts{R"(f{"a":2})"});
  EXPECT_EQ(
      run_all(kCase, in_call(R"({"name": "f", "arguments": {"a": 1}, "id": {"x": "}"}})") + " ")
          .whole,
      Texts{R"(f{"a": 1})"});
}

TEST(OutputJsonCalls, NewlinesAndTagsInStrings) {
  const Outcome outcome =
      run_all(kCase, in_call("{\"name\": \"f\", \"arguments\": {\"a\": \"x\ny </tool_call> z\"}}"));
  EXPECT_EQ(outcome.whole, Texts{R"(f{"a": "x\u000ay </tool_call> z"})"});
}

TEST(OutputJsonCalls, BrokenArgumentsNeverEnd) {
  const Outcome outcome =
      run_all(kCase, in_call(R"({"name": "f", "arguments": {"a": tru, "b": 1}})") +
                         in_call(R"({"name": "f", "arguments": {"a": 1}})"));
  EXPECT_EQ(outcome.calls, (Texts{R"(f{"a": tru)", R"(f{"a": 1})"}));
  EXPECT_EQ(outcome.whole, Texts{R"(f{"a": 1})"});
  EXPECT_EQ(outcome.content, "");
}

TEST(OutputJsonCalls, WhatIsNoCallIsText) {
  EXPECT_EQ(run_all(kCase, in_call("{\"nom\": 1}")).content, "{\"nom\": 1}\n");
  EXPECT_EQ(run_all(kCase, in_call("none")).content, "none\n");
}

TEST(OutputJsonCalls, CutCalls) {
  Case cut = kCase;
  cut.end = OutputEnd::kLength;
  const Outcome outcome = run_all(cut, R"(a <tool_call>{"name": "f", "arguments": {"a": "b)");
  EXPECT_EQ(outcome.calls, Texts{R"(f{"a": "b)"});
  EXPECT_TRUE(outcome.whole.empty());
  EXPECT_EQ(outcome.content, "a");
  EXPECT_EQ(run_all(cut, R"(<tool_call>{"name": "f", "argu)").content, "");
}

// Looking at all of the head with every character would take minutes here.
TEST(OutputJsonCalls, HeadsThatGoOnAndOnTakeLinearTime) {
  constexpr size_t kLong = 1'000'000;
  for (const std::string unit : {" ", "n"}) {
    const std::string open = unit == " " ? "{" : R"({"name": ")";
    const std::string close = unit == " " ? R"("name": "f", "arguments": {"a": 1}})" : "";
    std::vector<std::string> pieces = {"<tool_call>", open};
    pieces.insert(pieces.end(), kLong, unit);
    pieces.push_back(close + "</tool_call>");
    const Outcome outcome = run_pieces(kCase, pieces);
    EXPECT_EQ(outcome.whole, unit == " " ? Texts{R"(f{"a":1})"} : Texts{});
  }
}

TEST(OutputJsonCalls, InsideTheThought) {
  Case tested = kCase;
  tested.start = OutputStart::kReasoning;
  const std::string text = in_call(R"({"name": "f", "arguments": {"a": 1}})");
  EXPECT_EQ(run_all(tested, "so " + text).whole, Texts{R"(f{"a": 1})"});
  EXPECT_EQ(run_all(tested, "so " + text + "!").reasoning, "so " + text + "!");
}

}  // namespace
}  // namespace deltaserve
