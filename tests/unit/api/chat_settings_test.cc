// The operator's flags for conversations.
#include "api/chat_settings.h"

#include <gtest/gtest.h>

namespace deltaserve {
namespace {

ChatSettings settings(const ChatFlags& flags) {
  const auto read = read_chat_settings(flags);
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(ChatSettings{});
}

TEST(ChatSettings, KnowsTheNamesOfOthers) {
  EXPECT_EQ(settings({}).tool_calls, std::nullopt);
  EXPECT_TRUE(settings({}).split_reasoning);
  EXPECT_EQ(settings({.tool_call_parser = "qwen3_coder"}).tool_calls, ToolCallFormat::kXml);
  EXPECT_EQ(settings({.tool_call_parser = "hermes"}).tool_calls, ToolCallFormat::kJson);
  EXPECT_EQ(settings({.tool_call_parser = "none"}).tool_calls, ToolCallFormat::kNone);
  EXPECT_TRUE(settings({.reasoning_parser = "qwen3"}).split_reasoning);
  EXPECT_FALSE(settings({.reasoning_parser = "none"}).split_reasoning);
}

TEST(ChatSettings, ReadsTemplateVariables) {
  const ChatSettings read = settings({.default_template_kwargs = R"({"enable_thinking":false})"});
  EXPECT_EQ(read.template_kwargs.at("enable_thinking"), false);
  EXPECT_TRUE(settings({}).template_kwargs.empty());
}

TEST(ChatSettings, RefusesByFlag) {
  const std::pair<ChatFlags, const char*> cases[] = {
      {{.tool_call_parser = "pythonic"}, "tool-call-parser"},
      {{.reasoning_parser = ""}, "reasoning-parser"},
      {{.default_template_kwargs = "{"}, "default-chat-template-kwargs"},
      {{.default_template_kwargs = "[]"}, "default-chat-template-kwargs"},
      {{.default_template_kwargs = R"({"messages":[]})"}, "default-chat-template-kwargs"},
  };
  for (const auto& [flags, param] : cases) {
    const auto read = read_chat_settings(flags);
    ASSERT_FALSE(read) << param;
    EXPECT_EQ(read.error().param, param);
    EXPECT_NE(read.error().message.find(param), std::string::npos);
  }
}

}  // namespace
}  // namespace deltaserve
