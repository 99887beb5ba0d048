// Faults of tool-call parsing that users reported of servers (kinds F20 to F45), each run whole, in
// pieces and token by token.
#include <gtest/gtest.h>

#include "output_case.h"

namespace deltaserve {
namespace {

using namespace testing_output;  // NOLINT: helpers of these tests
using Texts = std::vector<std::string>;

std::string schema(const std::string& properties) {
  return R"({"type":"object","properties":{)" + properties + "}}";
}

const std::string kTools = tools_json({
    {"post", schema(R"("body":{"type":"object"},"text":{"type":"string"})")},
    {"find", schema(R"("city":{"type":"string"},"zip":{"type":"string"})")},
    {"now", schema("")},
    {"read", schema(R"("path":{"type":"string"},"lines":{"type":"integer"})")},
    {"glob", schema(R"("p":{"type":"string"})")},
    {"flag", schema(R"("on":{"type":"boolean"},"maybe":{"type":["boolean","null"]},
                       "n":{"anyOf":[{"type":"integer"},{"type":"null"}]},"s":{"type":"string"},
                       "t":{"type":["string","null"]})")},
    {"cal.list-events", schema("")},
    {"mcp__a-b__c", schema("")},
});

const Case kCase{.tools = kTools};

std::string in_call(const std::string& body) {
  return "<tool_call>\n" + body + "\n</tool_call>";
}

TEST(OutputToolCalls, MissingParameterEnd) {
  EXPECT_EQ(run_all(kCase, in_call("<function=post>\n<parameter=body>\n{\"on\":true}\n</function>"))
                .whole,
            Texts{R"(post{"body":{"on":true}})"});
  EXPECT_EQ(run_all(kCase, in_call("<function=post>\n<parameter=text>\na\n</function>")).whole,
            Texts{R"(post{"text":"a"})"});
  EXPECT_EQ(run_all(kCase, in_call("<function=post>\n<parameter=text>\na")).whole,
            Texts{R"(post{"text":"a"})"});
}

TEST(OutputToolCalls, MissingParameterEndBeforeTheNextParameter) {
  const std::string text = in_call(
      "<function=find>\n<parameter=city>\nUlm\n<parameter=zip>\n89073\n</parameter>\n"
      "</function>");
  EXPECT_EQ(run_all(kCase, text).whole, Texts{R"(find{"city":"Ulm","zip":"89073"})"});
}

TEST(OutputToolCalls, TagsInsideValuesAreData) {
  const std::string value =
      "<parameter=city>\nx\n</parameter>\nthen </function> and\n</function>\n<parameter=other>\n"
      "<tool_call> <think></think> </tool_call>\nend";
  const Outcome outcome = run_all(kCase, call("find", {{"city", value}}));
  std::string expected = "find{\"city\":";
  json::append_quoted(value, expected);
  EXPECT_EQ(outcome.whole, Texts{expected + "}"});
}

TEST(OutputToolCalls, AnEndTagWithinAStringOfAnObjectIsData) {
  const std::string tag = R"("a\"</parameter> </function>")";
  for (const std::string& value : {"{" + tag + ":1}", R"({"k":[)" + tag + "," + tag + R"(,"\\"]})",
                                   R"({"k":)" + tag + "\n,\"l\":" + tag + "}"}) {
    EXPECT_EQ(run_all(kCase, call("post", {{"body", value}, {"text", "x"}})).whole,
              Texts{"post{\"body\":" + value + R"(,"text":"x"})"});
  }
}

TEST(OutputToolCalls, AStringThatDoesNotEndDoesNotTakeTheEndTagAlong) {
  EXPECT_EQ(run_all(kCase, call("post", {{"body", "{\"a"}, {"text", "x"}})).whole,
            Texts{R"(post{"body":"{\"a","text":"x"})"});
}

TEST(OutputToolCalls, NoParameters) {
  EXPECT_EQ(run_all(kCase, call("now")).whole, Texts{"now{}"});
  EXPECT_EQ(run_all(kCase, "<tool_call><function=now></function></tool_call>").whole,
            Texts{"now{}"});
  EXPECT_EQ(run_all(kCase, in_call("<function=now>")).whole, Texts{"now{}"});
}

TEST(OutputToolCalls, BracesAreNotCounted) {
  const Outcome outcome = run_all(kCase, call("find", {{"city", "a}b{\""}, {"zip", "{{x}}"}}));
  EXPECT_EQ(outcome.whole, Texts{R"(find{"city":"a}b{\"","zip":"{{x}}"})"});
}

TEST(OutputToolCalls, LongStringsStream) {
  std::string value;
  while (value.size() < 50000) value += "line " + std::to_string(value.size()) + " of it\n";
  const Outcome outcome = run_tokens(kCase, call("post", {{"text", value}}));
  const auto deltas =
      std::ranges::count(outcome.events, OutputEvent::Kind::kArguments, &OutputEvent::kind);
  EXPECT_GE(deltas, 100);
  const auto arguments = json::parse(outcome.whole.at(0).substr(4));
  EXPECT_EQ(std::string_view(arguments->at("text").get_string()), value);
}

TEST(OutputToolCalls, PartOfAnEndTagIsHeldAndKept) {
  EXPECT_EQ(run_all(kCase, in_call("<function=find>\n<parameter=city>\ntail</par\xC2\xA6"
                                   "ameter>\n</function>"))
                .whole,
            Texts{R"(find{"city":"tail"})"});
  EXPECT_EQ(run_all(kCase, call("find", {{"city", "tail</par"}})).whole,
            Texts{R"(find{"city":"tail</par"})"});
}

TEST(OutputToolCalls, OneNewlineAtEachEndIsLayout) {
  EXPECT_EQ(run_all(kCase, call("find", {{"city", "\n  a \r\n\n"}, {"zip", ""}})).whole,
            Texts{R"(find{"city":"\n  a \r\n\n","zip":""})"});
}

TEST(OutputToolCalls, Booleans) {
  for (const auto& [text, value] : std::vector<std::pair<std::string, std::string>>{
           {"True", "true"}, {"FALSE", "false"}, {"maybe", R"("maybe")"}}) {
    EXPECT_EQ(run_all(kCase, call("flag", {{"on", text}})).whole,
              Texts{"flag{\"on\":" + value + "}"});
  }
  EXPECT_EQ(run_all(kCase, call("flag", {{"maybe", "false"}})).whole,
            Texts{R"(flag{"maybe":false})"});
}

TEST(OutputToolCalls, NullsAndStrings) {
  EXPECT_EQ(run_all(kCase, call("flag", {{"n", "None"}})).whole, Texts{R"(flag{"n":null})"});
  EXPECT_EQ(run_all(kCase, call("flag", {{"t", "null"}})).whole, Texts{R"(flag{"t":null})"});
  EXPECT_EQ(run_all(kCase, call("flag", {{"t", "nullify"}})).whole,
            Texts{R"(flag{"t":"nullify"})"});
  EXPECT_EQ(run_all(kCase, call("flag", {{"t", "nu"}})).whole, Texts{R"(flag{"t":"nu"})"});
  for (const char* text : {"null", "42"}) {
    EXPECT_EQ(run_all(kCase, call("flag", {{"s", text}})).whole,
              Texts{std::string("flag{\"s\":\"") + text + "\"}"});
  }
  EXPECT_EQ(run_all(kCase, call("flag", {{"s", R"({"a":1})"}})).whole,
            Texts{R"(flag{"s":"{\"a\":1}"})"});
}

TEST(OutputToolCalls, CallWithoutItsOpeningToken) {
  const std::string bare =
      "I'll look.\n\n<function=glob>\n<parameter=p>\n*.md\n</parameter>\n</function>\n</tool_call>";
  const Outcome outcome = run_all(kCase, bare);
  EXPECT_EQ(outcome.content, "I'll look.");
  EXPECT_EQ(outcome.whole, Texts{R"(glob{"p":"*.md"})"});

  for (const char* text : {"a\n<function=unknown>\n</function>\nb", "use <function=glob> here",
                           "a\n<function=globs>", "a < b\n<fun"}) {
    const Outcome plain = run_all(kCase, text);
    EXPECT_EQ(plain.content, text);
    EXPECT_TRUE(plain.calls.empty());
  }
  EXPECT_EQ(run_all({}, bare).content, bare);
}

TEST(OutputToolCalls, JunkBehindACallIsDropped) {
  for (const char* junk : {"\n</function>\n</function_invocation>\n", "</tool_call>", "</func"}) {
    const Outcome outcome = run_all(kCase, call("now") + junk);
    EXPECT_EQ(outcome.content, "") << junk;
    EXPECT_EQ(outcome.whole, Texts{"now{}"});
  }
  const Outcome inside =
      run_all(kCase, in_call("<function=now>\n</function>\n</function_invocation>"));
  EXPECT_EQ(inside.content, "");
  EXPECT_EQ(run_all(kCase, call("now") + "</functionx></b>").content, "</b>");
}

TEST(OutputToolCalls, SeveralCalls) {
  for (const char* between : {"", "\n"}) {
    const Outcome outcome = run_all(kCase, call("read", {{"path", "a"}, {"lines", "3"}}) + between +
                                               call("read", {{"path", "b"}}));
    EXPECT_EQ(outcome.whole, (Texts{R"(read{"path":"a","lines":3})", R"(read{"path":"b"})"}));
    const json::Array& calls = outcome.message.at("tool_calls").get_array();
    EXPECT_NE(calls[0].at("id"), calls[1].at("id"));
    EXPECT_TRUE(outcome.message.at("content").is_null());
  }
}

TEST(OutputToolCalls, TextBehindACallIsContent) {
  const Outcome outcome = run_all(kCase, "One.\n\n" + call("now") + "\n\nTwo.\n");
  EXPECT_EQ(outcome.content, "One.\n\nTwo.\n");
  EXPECT_EQ(outcome.whole, Texts{"now{}"});
}

TEST(OutputToolCalls, NamesAreExact) {
  for (const char* name : {"cal.list-events", "mcp__a-b__c"}) {
    EXPECT_EQ(run_all(kCase, call(name)).whole, Texts{std::string(name) + "{}"});
  }
}

TEST(OutputToolCalls, CutCallIsNotInTheMessage) {
  Case cut = kCase;
  cut.end = OutputEnd::kLength;
  for (const char* text : {"<parameter=path>\nsrc/ma", "<parameter=lines>\n1", "<param", ""}) {
    const Outcome outcome = run_all(cut, std::string("ok\n<tool_call>\n<function=read>\n") + text);
    EXPECT_EQ(outcome.calls.size(), 1U);
    EXPECT_TRUE(outcome.whole.empty());
    EXPECT_FALSE(outcome.message.contains("tool_calls"));
    EXPECT_EQ(outcome.content, "ok");
    EXPECT_EQ(outcome.finish_reason, "length");
  }
  EXPECT_EQ(run_all(cut, "<tool_call>\n<function=re").content, "");
  EXPECT_EQ(run_all(cut, call("read", {{"path", "a"}}).substr(0, 52)).calls,
            Texts{R"(read{"path":"a)"});
}

TEST(OutputToolCalls, EveryChoiceHasItsOwnState) {
  OutputParser first(OutputOptions{.start = OutputStart::kReasoning, .tools = nullptr});
  OutputParser second(OutputOptions{.start = OutputStart::kReasoning, .tools = nullptr});
  OutputMessage one;
  OutputMessage two;
  one.add(first.push_text("a"));
  two.add(second.push_text("b"));
  one.add(first.push_control(ControlToken::kThinkClose));
  one.add(first.push_text("c"));
  two.add(second.push_text("d"));
  EXPECT_EQ(one.content(), "c");
  EXPECT_EQ(two.content(), "");
  EXPECT_EQ(two.reasoning(), "bd");
}

TEST(OutputToolCalls, IdAndNameComeFirst) {
  const Outcome outcome = run_all(kCase, call("read", {{"path", "a"}}));
  ASSERT_GE(outcome.events.size(), 3U);
  EXPECT_EQ(outcome.events.front().kind, OutputEvent::Kind::kToolCallBegin);
  EXPECT_EQ(outcome.events.front().name, "read");
  EXPECT_EQ(outcome.events.front().id.size(), 29U);
  EXPECT_TRUE(outcome.events.front().id.starts_with("call_"));
  EXPECT_EQ(outcome.events.back().kind, OutputEvent::Kind::kToolCallEnd);
  for (size_t i = 1; i < outcome.events.size(); ++i) EXPECT_EQ(outcome.events[i].id, "");
}

TEST(OutputToolCalls, TextInsideCallTagsThatIsNoCall) {
  const Outcome outcome = run_all(kCase, "<tool_call>\nhello\n</tool_call>");
  EXPECT_EQ(outcome.content, "hello\n");
  EXPECT_TRUE(outcome.calls.empty());
}

}  // namespace
}  // namespace deltaserve
