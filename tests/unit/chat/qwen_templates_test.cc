// The family's prompt format: the committed templates of Qwen3.5, 3.6 and 3.8 against prompts that
// were worked out by hand from the format's rules.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "chat/chat_template.h"

namespace deltaserve {
namespace {

const std::string kGenerate = "<|im_start|>assistant\n<think>\n";
const std::string kXhigh =
    "Reasoning effort is set to xhigh. Please think carefully through the task, validate key "
    "assumptions, consider plausible alternatives, and prioritize correctness, consistency, and "
    "clarity in the final answer.";
const std::string kLow =
    "Reasoning effort is set to low. Keep your thinking brief and focused, moving directly to the "
    "conclusion without unnecessary elaboration.";

std::string turn(const std::string& role, const std::string& text) {
  return "<|im_start|>" + role + "\n" + text + "<|im_end|>\n";
}

class QwenTemplates : public testing::TestWithParam<std::string> {
 protected:
  static std::string render(const std::string& name, const std::string& variables) {
    std::ifstream file(std::string(DELTASERVE_TEST_DATA) + "/chat/templates/" + name + ".jinja");
    const std::string source{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
    EXPECT_FALSE(source.empty()) << name;
    const auto compiled = ChatTemplate::compile(source);
    if (!compiled) {
      return compiled.error().message;
    }
    const Result<json::Value> value = json::parse(variables);
    EXPECT_TRUE(value) << variables;
    const auto prompt = (*compiled)->render(value->get_object());
    return prompt ? prompt->text : "error: " + prompt.error().message;
  }
  std::string render(const std::string& variables) const { return render(GetParam(), variables); }
  bool is_38() const { return GetParam() == "qwen3_8"; }
  // Qwen3.8 begins with its effort text; these tests ask for "medium", which has none.
  std::string with_effort(const std::string& fields) const {
    return "{" + fields + (is_38() ? R"(,"reasoning_effort":"medium"})" : "}");
  }
};

INSTANTIATE_TEST_SUITE_P(Family, QwenTemplates, testing::Values("qwen3_5", "qwen3_6", "qwen3_8"),
                         [](const auto& tested) { return tested.param; });

TEST_P(QwenTemplates, SystemAndQuestion) {
  EXPECT_EQ(render(with_effort(
                R"("messages":[{"role":"system","content":" S "},{"role":"user","content":"Hi"}],
                   "add_generation_prompt":true)")),
            turn("system", "S") + turn("user", "Hi") + kGenerate);
}

TEST_P(QwenTemplates, ThinkingOff) {
  EXPECT_EQ(render(R"({"messages":[{"role":"user","content":"Hi"}],"enable_thinking":false,
                       "add_generation_prompt":true})"),
            turn("user", "Hi") + "<|im_start|>assistant\n<think>\n\n</think>\n\n");
}

TEST_P(QwenTemplates, ReasoningOfHistory) {
  const std::string messages =
      R"("messages":[{"role":"user","content":"A"},
          {"role":"assistant","content":"x","reasoning_content":"r1"},{"role":"user","content":"B"}])";
  const std::string dropped = turn("user", "A") + turn("assistant", "x") + turn("user", "B");
  const std::string kept =
      turn("user", "A") + turn("assistant", "<think>\nr1\n</think>\n\nx") + turn("user", "B");
  EXPECT_EQ(render(with_effort(messages)), is_38() ? kept : dropped);
  EXPECT_EQ(render(with_effort(messages + R"(,"preserve_thinking":true)")),
            GetParam() == "qwen3_5" ? dropped : kept);
  EXPECT_EQ(render(with_effort(messages + R"(,"preserve_thinking":false)")), dropped);
}

TEST_P(QwenTemplates, ToolTurn) {
  const std::string ok = GetParam() == "qwen3_5" ? "True" : "true";
  EXPECT_EQ(render(with_effort(
                R"("messages":[{"role":"user","content":"W?"},
              {"role":"assistant","content":"Let me look.","reasoning_content":"need tool","tool_calls":[
                {"type":"function","function":{"name":"f","arguments":{"city":"Rome","ok":true}}},
                {"name":"g","arguments":{}}]},
              {"role":"tool","content":"one"},{"role":"tool","content":"two"}],
             "add_generation_prompt":true)")),
            turn("user", "W?") +
                turn("assistant",
                     "<think>\nneed tool\n</think>\n\nLet me look.\n\n<tool_call>\n<function=f>\n"
                     "<parameter=city>\nRome\n</parameter>\n<parameter=ok>\n" +
                         ok +
                         "\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n"
                         "</function>\n</tool_call>") +
                turn("user",
                     "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n"
                     "</tool_response>") +
                kGenerate);
}

TEST_P(QwenTemplates, ImagesAndVideos) {
  EXPECT_EQ(render(with_effort(
                R"("messages":[{"role":"user","content":[{"type":"image","image":"u"},
                   {"type":"text","text":"what"},{"type":"video","video":"v"}]}])")),
            turn("user",
                 "<|vision_start|><|image_pad|><|vision_end|>what"
                 "<|vision_start|><|video_pad|><|vision_end|>"));
}

TEST_P(QwenTemplates, ToolsStandInTheSystemBlock) {
  const std::string text = render(with_effort(
      R"("messages":[{"role":"system","content":"S"},{"role":"user","content":"Hi"}],
         "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",
         "properties":{"city":{"type":"string"}}}}}])"));
  const std::string begin =
      "<|im_start|>system\n# Tools\n\nYou have access to the following functions:\n\n<tools>\n"
      R"({"type": "function", "function": {"name": "f", "parameters": {"type": "object", )"
      R"("properties": {"city": {"type": "string"}}}}})"
      "\n</tools>\n\nIf you choose to call a function ONLY reply";
  const std::string end =
      "about function calls\n</IMPORTANT>\n\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n";
  EXPECT_TRUE(text.starts_with(begin)) << text;
  EXPECT_TRUE(text.ends_with(end)) << text;
}

TEST_P(QwenTemplates, Refusals) {
  const std::map<std::string, std::string> cases = {
      {R"("messages":[])", "No messages provided."},
      {R"("messages":[{"role":"system","content":"S"}])", "No user query found in messages."},
      {R"("messages":[{"role":"user","content":"a"},{"role":"system","content":"S"}])",
       "System message must be at the beginning."},
      {R"("messages":[{"role":"user","content":"a"},{"role":"developer","content":"S"}])",
       "Unexpected message role."},
      {R"("messages":[{"role":"user","content":7}])", "Unexpected content type."},
      {R"("messages":[{"role":"user","content":[{"type":"odd"}]}])",
       "Unexpected item type in content."},
      {R"("messages":[{"role":"system","content":[{"type":"image"}]},{"role":"user","content":"a"}])",
       "System message cannot contain images."},
  };
  for (const auto& [fields, message] : cases) {
    EXPECT_EQ(render(with_effort(fields)), "error: " + message) << fields;
  }
}

TEST_F(QwenTemplates, ArgumentsMustBeAMapping) {
  const std::string text = render(
      "qwen3_6", R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b",
      "tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]})");
  EXPECT_TRUE(text.starts_with("error: Can only get item pairs from a mapping.")) << text;
}

TEST_F(QwenTemplates, EffortOfQwen38) {
  const auto effort = [](const std::string& fields) {
    return render("qwen3_8", R"({"messages":[{"role":"user","content":"Hi"}])" + fields + "}");
  };
  EXPECT_EQ(effort(R"(,"reasoning_effort":"low","add_generation_prompt":true)"),
            turn("system", kLow) + turn("user", "Hi") + kGenerate);
  EXPECT_EQ(effort(""), turn("system", kXhigh) + turn("user", "Hi"));
  EXPECT_EQ(effort(R"(,"enable_thinking":null)"), turn("user", "Hi"));
  EXPECT_EQ(effort(R"(,"reasoning_effort":"high")"),
            "error: Unexpected reasoning effort high. Supported types are xhigh (default), medium, "
            "and low.");
  EXPECT_EQ(effort(R"(,"reasoning_effort":null)"),
            "error: Unexpected reasoning effort None. Supported types are xhigh (default), medium, "
            "and low.");
}

}  // namespace
}  // namespace deltaserve
