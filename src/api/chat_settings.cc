// Flags to settings.
#include "api/chat_settings.h"

#include <fmt/format.h>

#include <utility>

#include "api/thinking_switch.h"

namespace deltaserve {
namespace {

struct ToolCallName {
  std::string_view name;
  std::optional<ToolCallFormat> format;
};

constexpr ToolCallName kToolCallNames[] = {
    {"auto", std::nullopt},
    {"none", ToolCallFormat::kNone},
    {"qwen3_coder", ToolCallFormat::kXml},
    {"qwen3_xml", ToolCallFormat::kXml},
    {"hermes", ToolCallFormat::kJson},
};

struct ReasoningName {
  std::string_view name;
  bool split = true;
};

constexpr ReasoningName kReasoningNames[] = {
    {"auto", true}, {"none", false}, {"qwen3", true}, {"deepseek_r1", true}};

template <typename Names>
auto find_name(const Names& names, std::string_view flag, const std::string& name)
    -> Result<const std::remove_extent_t<Names>*> {
  std::string known;
  for (const auto& entry : names) {
    if (entry.name == name) {
      return &entry;
    }
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  return invalid(fmt::format("--{} must be one of {}; got '{}'", flag, known, name),
                 std::string(flag));
}

Result<json::Object> read_kwargs(const std::string& text) {
  constexpr std::string_view kFlag = "default-chat-template-kwargs";
  if (text.empty()) {
    return json::Object{};
  }
  const Result<json::Value> value = json::parse(text);
  if (!value || !value->is_object()) {
    return invalid(fmt::format("--{} must be a JSON object{}", kFlag,
                               value ? "" : ": " + value.error().message),
                   std::string(kFlag));
  }
  for (const std::string_view reserved : {"messages", "tools"}) {
    if (value->get_object().contains(reserved)) {
      return invalid(fmt::format("--{} must not set '{}'", kFlag, reserved), std::string(kFlag));
    }
  }
  json::Object kwargs = value->get_object();
  if (Result<void> read = normalize_switches(kwargs, "--default-chat-template-kwargs"); !read) {
    return std::unexpected(std::move(read.error()));
  }
  return kwargs;
}

}  // namespace

Result<ChatSettings> read_chat_settings(const ChatFlags& flags) {
  const auto tool_calls = find_name(kToolCallNames, "tool-call-parser", flags.tool_call_parser);
  if (!tool_calls) {
    return std::unexpected(tool_calls.error());
  }
  const auto reasoning = find_name(kReasoningNames, "reasoning-parser", flags.reasoning_parser);
  if (!reasoning) {
    return std::unexpected(reasoning.error());
  }
  Result<json::Object> kwargs = read_kwargs(flags.default_template_kwargs);
  if (!kwargs) {
    return std::unexpected(std::move(kwargs.error()));
  }
  ChatSettings settings;
  settings.tool_calls = (*tool_calls)->format;
  settings.split_reasoning = (*reasoning)->split;
  settings.template_kwargs = *std::move(kwargs);
  settings.thinking_budget_message = flags.thinking_budget_message;
  settings.strict_tool_call_ids = flags.strict_tool_call_ids;
  return settings;
}

}  // namespace deltaserve
