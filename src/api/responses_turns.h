// Collects the messages of a conversation that is given as a flat list of items.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/json.h"

namespace deltaserve::responses_api {

// Adding to the answer of the assistant goes to the message of its current turn. A turn ends with
// any other message; and with reasoning or text that comes where the turn already has text, since a
// chat message has one thought before one text. Text behind calls belongs to the turn of the calls,
// as it does in a chat answer.
class TurnList {
 public:
  void add_message(std::string_view role, json::Value content);
  void add_tool_result(const std::optional<std::string>& call_id, json::Value content);

  void add_reasoning(std::string_view text);
  void add_text(std::string_view text);
  void add_call(json::Object call);  // {id, type, function: {name, arguments}}

  json::Array take() { return std::move(messages_); }

 private:
  json::Object& turn();

  json::Array messages_;
  bool open_ = false;  // the last message is the current turn, and what it has:
  bool has_text_ = false;
  bool has_calls_ = false;
};

}  // namespace deltaserve::responses_api
