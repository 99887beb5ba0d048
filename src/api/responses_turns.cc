// TurnList: see the header for where a turn ends.
#include "api/responses_turns.h"

#include <utility>

namespace deltaserve::responses_api {
namespace {

// Several thoughts before one text are paragraphs of one.
constexpr std::string_view kThoughtBreak = "\n\n";

void append_to(json::Object& message, std::string_view key, std::string_view text) {
  json::Value& value = message[key];
  if (!value.is_string()) {
    value.emplace_string();
  }
  value.get_string().append(text);
}

}  // namespace

void TurnList::add_message(std::string_view role, json::Value content) {
  open_ = false;
  messages_.push_back(json::Object{{"role", role}, {"content", std::move(content)}});
}

void TurnList::add_tool_result(const std::optional<std::string>& call_id, json::Value content) {
  add_message("tool", std::move(content));
  if (call_id) {
    messages_.back().get_object()["tool_call_id"] = *call_id;
  }
}

json::Object& TurnList::turn() {
  if (!open_) {
    add_message("assistant", "");
    open_ = true;
    has_text_ = false;
    has_calls_ = false;
  }
  return messages_.back().get_object();
}

void TurnList::add_reasoning(std::string_view text) {
  if (has_text_ || has_calls_) {
    open_ = false;
  }
  json::Object& message = turn();
  if (message.contains("reasoning_content")) {
    append_to(message, "reasoning_content", kThoughtBreak);
  }
  append_to(message, "reasoning_content", text);
}

void TurnList::add_text(std::string_view text) {
  if (has_text_ && !has_calls_) {
    open_ = false;
  }
  append_to(turn(), "content", text);
  has_text_ = true;
}

void TurnList::add_call(json::Object call) {
  json::Value& calls = turn()["tool_calls"];
  if (!calls.is_array()) {
    calls.emplace_array();
  }
  calls.get_array().push_back(std::move(call));
  has_calls_ = true;
}

}  // namespace deltaserve::responses_api
