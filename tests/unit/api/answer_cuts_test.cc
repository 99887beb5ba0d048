// However the same text is cut into tokens, and tokens into steps, the answer is the same, and what
// is streamed is what the whole answer says.
#include <gtest/gtest.h>

#include <array>

#include "session_fixture.h"

namespace deltaserve {
namespace {

constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object",
         "properties":{"path":{"type":"string"},"n":{"type":"integer"},
                       "t":{"type":["string","null"]}}}}},
       {"type":"function","function":{"name":"now"}}])";

struct Text {
  std::string fields;
  std::string text;
  ToolCallFormat format = ToolCallFormat::kXml;
};

std::vector<Text> texts() {
  const std::string on = R"("enable_thinking":true)";
  const std::string off = R"("enable_thinking":false)";
  const std::string tools = std::string(kTools) + ",";
  return {
      {on, "sum: 4 + 5\n\nis 9 \n</think>\n\nIt is **9** 🎉.\n"},
      {off, "  A < b </par und Grüße 日本🇩🇪\n\n"},
      {off + R"(,"stop":["beta gamma","ta \n"])", "alpha beta ga beta \n gamma delta"},
      {on + R"(,"stop":["bc"])", "abc</think>\n\na b a bc d"},
      {tools + on,
       "Need it.\n</think>\n\nLook: <function and\n\n<tool_call>\n<function=read>\n"
       "<parameter=path>\n/ü\"\\</par\n</parameter>\n<parameter=n>\n 12\n</parameter>\n"
       "<parameter=t>\nNonesuch\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n"
       "<function=now>\n</function>\n</tool_call>"},
      {tools + on, "so <tool_call>\n<function=now>\n</function>\n</tool_call>"},
      {tools + on, "a <tool_call> is\n<tool_call>\n<function=now>\n</function></tool_call> x"},
      {tools + off, "I'll look.\n\n<function=now>\n</function>\n</tool_call>\n</function_call>"},
      {tools + off + R"(,"stop":["lo"])",
       "hel<tool_call>\n<function=now>\n</function>\n</tool_call>"},
      {tools + off + R"(,"parallel_tool_calls":false)",
       "<tool_call>\n<function=now>\n</function>\n</tool_call>\n<tool_call>\n<function=now>"},
      {tools + on,
       "x</think>\n\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a}\\n\", "
       "\"n\": [1, {}]}}\n</tool_call>\ndone",
       ToolCallFormat::kJson},
  };
}

class AnswerCutsTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    byte_tokens_.fill(-1);
    for (int32_t id = 0; id < context_->tokenizer->vocab_size(); ++id) {
      const std::string_view bytes = context_->tokenizer->token_bytes(id);
      if (bytes.size() == 1 && !context_->tokenizer->is_added(id)) {
        byte_tokens_[static_cast<unsigned char>(bytes[0])] = id;
      }
    }
  }

  // Added tokens stay whole, all else is one token a byte.
  std::vector<int32_t> bytewise(std::string_view text) const {
    std::vector<int32_t> out;
    for (const int32_t id : encode(text)) {
      if (context_->tokenizer->is_added(id)) {
        out.push_back(id);
        continue;
      }
      for (const char byte : context_->tokenizer->token_bytes(id)) {
        out.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
      }
    }
    return out;
  }

  // Steps of the given numbers of tokens; the last takes what is left.
  static std::vector<RequestOutput> grouped(const std::vector<int32_t>& ids,
                                            const std::vector<size_t>& sizes) {
    std::vector<RequestOutput> single = steps(ids, FinishReason::kStop);
    std::vector<RequestOutput> out;
    size_t at = 0;
    for (size_t i = 0; i <= sizes.size() && at < single.size(); ++i) {
      const size_t end = i < sizes.size() ? std::min(at + sizes[i], single.size()) : single.size();
      RequestOutput step = single[end - 1];
      step.choices[0].token_ids.assign(ids.begin() + static_cast<long>(at),
                                       ids.begin() + static_cast<long>(end));
      step.choices[0].logprobs.clear();
      for (; at < end; ++at) {
        step.choices[0].logprobs.push_back(single[at].choices[0].logprobs[0]);
      }
      out.push_back(std::move(step));
    }
    return out;
  }

  static std::string said(const StreamedChoice& choice) {
    std::string out = "R[" + choice.reasoning + "] C[" + choice.content + "]";
    for (const StreamedChoice::Call& call : choice.calls) {
      out += " " + call.name + call.arguments;
    }
    return out + " " + choice.finish_reason;
  }

  std::array<int32_t, 256> byte_tokens_{};
};

TEST_F(AnswerCutsTest, EveryCutSaysTheSame) {
  for (const Text& text : texts()) {
    context_->chat.tool_calls = text.format;
    const std::vector<int32_t> ids = with_eos(text.text);
    const std::string expected = said(run_choice(text.fields, grouped(ids, {ids.size()})));
    EXPECT_EQ(said(run_choice(text.fields, steps(ids, FinishReason::kStop))), expected);
    for (size_t cut = 1; cut < ids.size(); ++cut) {
      ASSERT_EQ(said(run_choice(text.fields, grouped(ids, {cut}))), expected) << cut;
    }
    std::vector<int32_t> bytes = bytewise(text.text);
    ASSERT_EQ(std::ranges::count(bytes, -1), 0);
    bytes.push_back(kEos);
    EXPECT_EQ(said(run_choice(text.fields, steps(bytes, FinishReason::kStop))), expected);
    EXPECT_EQ(said(run_choice(text.fields, grouped(bytes, {1, 2, 3, 5, 8, 13}))), expected);
  }
}

// A token border at every byte of the text in turn: before it tokens as the tokenizer has them,
// behind it one a byte.
TEST_F(AnswerCutsTest, EveryTokenBorderSaysTheSame) {
  for (const Text& text : texts()) {
    context_->chat.tool_calls = text.format;
    const std::string expected =
        said(run_choice(text.fields, steps(with_eos(text.text), FinishReason::kStop)));
    const std::vector<int32_t> bytes = bytewise(text.text);
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      std::vector<int32_t> ids = encode(context_->tokenizer->decode(
          {bytes.begin(), bytes.begin() + static_cast<long>(cut)}, false));
      const bool whole =
          context_->tokenizer->decode(ids, false).find("\xEF\xBF\xBD") == std::string::npos;
      if (!whole) {
        ids.assign(bytes.begin(), bytes.begin() + static_cast<long>(cut));
      }
      ids.insert(ids.end(), bytes.begin() + static_cast<long>(cut), bytes.end());
      ids.push_back(kEos);
      ASSERT_EQ(said(run_choice(text.fields, steps(ids, FinishReason::kStop))), expected) << cut;
    }
  }
}

}  // namespace
}  // namespace deltaserve
