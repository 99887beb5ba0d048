// What the operator decides about conversations: which parsers read the model's text, and what
// requests start from.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "chat/tool_call_parser.h"
#include "json/json.h"

namespace deltaserve {

struct ChatSettings {
  // The syntax of calls in the model's text; none: the one that the template teaches. kNone: calls
  // are left in the text.
  std::optional<ToolCallFormat> tool_calls;
  bool split_reasoning = true;   // else thoughts are left in the content, with their tags
  json::Object template_kwargs;  // a request's own come over these
  // Tool results that answer no call of the conversation are refused, else logged.
  bool strict_tool_call_ids = false;
  // What the model is made to say, as the last of its thought, when a thinking budget is spent.
  std::string thinking_budget_message = "\n";
};

// The flags as they were given.
struct ChatFlags {
  std::string tool_call_parser = "auto";     // or none, or a name that vLLM has for the syntax
  std::string reasoning_parser = "auto";     // likewise
  std::string default_template_kwargs = "";  // a JSON object, "" for none
  std::string thinking_budget_message = "\n";
  bool strict_tool_call_ids = false;
};

// Errors name the flag.
Result<ChatSettings> read_chat_settings(const ChatFlags& flags);

}  // namespace deltaserve
