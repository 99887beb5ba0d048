// Thinking: every switch there is, effort, history, and budgets.
#include <gtest/gtest.h>

#include <algorithm>

#include "api_fixture.h"

namespace deltaserve {
namespace {

class ThinkingTest : public ApiTest {
 protected:
  bool thinks(std::string_view fields) const {
    const std::string prompt = prompt_of(chat(fields));
    EXPECT_NE(prompt.ends_with("<think>\n"), prompt.ends_with("<think>\n\n</think>\n\n"));
    return prompt.ends_with("<think>\n");
  }

  // A template that writes down what it was told; some have efforts of their own.
  void use_template(std::string_view source) {
    auto compiled = ChatTemplate::compile(source);
    ASSERT_TRUE(compiled) << compiled.error().message;
    own_template_ = *std::move(compiled);
    context_->chat_template = own_template_.get();
  }

  std::optional<ThinkingBudget> budget_of(std::string_view fields) const {
    const auto prepared = service_.chat(chat(fields));
    EXPECT_TRUE(prepared) << prepared.error().message;
    return prepared ? prepared->job.requests[0].sampling.thinking_budget : std::nullopt;
  }

 private:
  std::unique_ptr<ChatTemplate> own_template_;
};

constexpr std::string_view kEcho =
    "{{ messages[0].content }}|{{ reasoning_effort | default('?') }}|"
    "{{ enable_thinking | default('?') }}";

TEST_F(ThinkingTest, EverySwitchWorksBothWays) {
  const std::pair<const char*, const char*> switches[] = {
      {R"("chat_template_kwargs":{"enable_thinking":true})",
       R"("chat_template_kwargs":{"enable_thinking":false})"},
      {R"("chat_template_kwargs":{"thinking":true})",
       R"("chat_template_kwargs":{"thinking":false})"},
      {R"("thinking":{"type":"enabled"})", R"("thinking":{"type":"disabled"})"},
      {R"("thinking":true)", R"("thinking":false)"},
      {R"("enable_thinking":true)", R"("enable_thinking":false)"},
      {R"("reasoning_effort":"high")", R"("reasoning_effort":"none")"},
  };
  for (const bool default_on : {true, false}) {
    context_->chat.template_kwargs = {};
    if (!default_on) {
      context_->chat.template_kwargs["enable_thinking"] = false;
    }
    EXPECT_EQ(thinks(""), default_on);
    for (const auto& [on, off] : switches) {
      EXPECT_TRUE(thinks(on)) << on;
      EXPECT_FALSE(thinks(off)) << off;
    }
  }
}

TEST_F(ThinkingTest, SwitchesOfTheTemplateMayBeWords) {
  for (const char* key : {"enable_thinking", "thinking"}) {
    const auto kwargs = [key](const char* value) {
      return R"("chat_template_kwargs":{")" + std::string(key) + "\":" + value + "}";
    };
    EXPECT_FALSE(thinks(kwargs(R"("false")"))) << key;
    EXPECT_FALSE(thinks(kwargs(R"("False")"))) << key;
    EXPECT_TRUE(thinks(kwargs(R"("true")"))) << key;
    EXPECT_TRUE(thinks(kwargs("null"))) << key;
    for (const char* odd : {R"("no")", R"("")", "0", "[]", "{}"}) {
      const Error error = chat_error(chat(kwargs(odd)));
      EXPECT_EQ(error.param, "chat_template_kwargs." + std::string(key)) << odd;
    }
  }
  ChatFlags flags;
  flags.default_template_kwargs = R"({"enable_thinking":"false"})";
  const auto settings = read_chat_settings(flags);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->template_kwargs.at("enable_thinking"), false);
  flags.default_template_kwargs = R"({"enable_thinking":"off"})";
  EXPECT_FALSE(read_chat_settings(flags));
}

TEST_F(ThinkingTest, TheMoreExplicitSwitchWins) {
  EXPECT_TRUE(thinks(R"("chat_template_kwargs":{"enable_thinking":true,"thinking":false},
                        "enable_thinking":false)"));
  EXPECT_TRUE(thinks(R"("chat_template_kwargs":{"thinking":true},"enable_thinking":false)"));
  EXPECT_FALSE(thinks(R"("enable_thinking":false,"thinking":{"type":"enabled"})"));
  EXPECT_FALSE(thinks(R"("thinking":{"type":"disabled"},"reasoning_effort":"high")"));
  EXPECT_FALSE(thinks(R"("thinking":{"type":"auto"},"reasoning_effort":"none")"));
}

TEST_F(ThinkingTest, TheOperatorsDefaultsComeUnderTheRequests) {
  context_->chat.template_kwargs = {{"thinking", false}, {"preserve_thinking", true}};
  EXPECT_FALSE(thinks(""));
  const std::string_view history =
      R"({"messages":[{"role":"user","content":"q"},
          {"role":"assistant","content":"a","reasoning_content":"because"},
          {"role":"user","content":"r"}])";
  EXPECT_NE(prompt_of(std::string(history) + "}").find("because"), std::string::npos);
  EXPECT_EQ(
      prompt_of(std::string(history) + R"(,"chat_template_kwargs":{"preserve_thinking":false}})")
          .find("because"),
      std::string::npos);
}

TEST_F(ThinkingTest, EffortIsPassedOnOrMapped) {
  use_template(kEcho);
  EXPECT_EQ(prompt_of(chat("")), "hi|?|?");
  EXPECT_EQ(prompt_of(chat(R"("reasoning_effort":"high")")), "hi|high|True");
  EXPECT_EQ(prompt_of(chat(R"("reasoning_effort":"none")")), "hi|?|False");
  use_template(std::string(kEcho) + "{# xhigh #}");
  const std::pair<const char*, const char*> efforts[] = {
      {"minimal", "low"}, {"low", "low"},     {"medium", "medium"},
      {"high", "xhigh"},  {"xhigh", "xhigh"}, {"max", "xhigh"},
  };
  for (const auto& [asked, given] : efforts) {
    EXPECT_EQ(prompt_of(chat(R"("reasoning_effort":")" + std::string(asked) + "\"")),
              "hi|" + std::string(given) + "|True");
  }
  EXPECT_EQ(prompt_of(chat(R"("reasoning_effort":"low",
                              "chat_template_kwargs":{"reasoning_effort":"odd"})")),
            "hi|odd|True");
  EXPECT_EQ(prompt_of(chat(R"("reasoning_effort":null)")), "hi|?|?");
}

TEST_F(ThinkingTest, WrongValuesAreRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("reasoning_effort":"some")", "reasoning_effort"},
      {R"("reasoning_effort":3)", "reasoning_effort"},
      {R"("thinking":"yes")", "thinking"},
      {R"("thinking":{"type":"odd"})", "thinking.type"},
      {R"("thinking":{"type":1})", "thinking.type"},
      {R"("thinking":{"budget_tokens":"9"})", "thinking.budget_tokens"},
      {R"("thinking":{"budget_tokens":-2})", "thinking.budget_tokens"},
      {R"("enable_thinking":"no")", "enable_thinking"},
      {R"("thinking_token_budget":-2)", "thinking_token_budget"},
      {R"("thinking_budget":1.5)", "thinking_budget"},
      {R"("chat_template_kwargs":[])", "chat_template_kwargs"},
      {R"("chat_template_kwargs":{"tools":[]})", "chat_template_kwargs"},
  };
  for (const auto& [fields, param] : cases) {
    EXPECT_EQ(chat_error(chat(fields)).param, param) << fields;
  }
}

TEST_F(ThinkingTest, BudgetsCloseWithTheModelsOwnTokens) {
  EXPECT_FALSE(budget_of(""));
  EXPECT_FALSE(budget_of(R"("thinking_token_budget":-1)"));
  EXPECT_FALSE(budget_of(R"("thinking":{"type":"enabled"})"));
  for (const char* fields :
       {R"("thinking_token_budget":7)", R"("thinking_budget":7)",
        R"("thinking":{"type":"enabled","budget_tokens":7})",
        R"("thinking_token_budget":7,"thinking_budget":8,"thinking":{"budget_tokens":9})"}) {
    const auto budget = budget_of(fields);
    ASSERT_TRUE(budget) << fields;
    EXPECT_EQ(budget->num_tokens, 7);
    EXPECT_TRUE(budget->open);
    EXPECT_EQ(context_->tokenizer->decode(budget->closing, false), "\n</think>\n\n");
    EXPECT_EQ(context_->tokenizer->decode({budget->open_token, budget->close_token}, false),
              "<think></think>");
  }
  const auto off = budget_of(R"("thinking_token_budget":0,"enable_thinking":false)");
  ASSERT_TRUE(off);
  EXPECT_FALSE(off->open);
}

// A tag in the operator's message is text and closes nothing.
TEST_F(ThinkingTest, TheClosingMessageIsTheOperators) {
  context_->chat.thinking_budget_message = "Time is up.</think>\n";
  const auto budget = budget_of(R"("thinking_token_budget":7)");
  ASSERT_TRUE(budget);
  EXPECT_EQ(context_->tokenizer->decode(budget->closing, false),
            "Time is up.</think>\n</think>\n\n");
  EXPECT_EQ(std::ranges::count(budget->closing, budget->close_token), 1);
}

}  // namespace
}  // namespace deltaserve
