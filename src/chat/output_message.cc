// Joins events.
#include "chat/output_message.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {

void OutputMessage::add(const std::vector<OutputEvent>& events) {
  for (const OutputEvent& event : events) {
    switch (event.kind) {
      case OutputEvent::Kind::kReasoning:
        reasoning_ += event.text;
        break;
      case OutputEvent::Kind::kContent:
        content_ += event.text;
        break;
      case OutputEvent::Kind::kToolCallBegin:
        calls_.push_back({event.index, event.id, event.name, {}, false});
        break;
      case OutputEvent::Kind::kArguments:
        call(event.index).arguments += event.text;
        break;
      case OutputEvent::Kind::kToolCallEnd:
        call(event.index).whole = true;
        break;
    }
  }
}

OutputMessage::Call& OutputMessage::call(int32_t index) {
  const auto found = std::ranges::find(calls_, index, &Call::index);
  DS_CHECK(found != calls_.end());
  return *found;
}

json::Object OutputMessage::message() const {
  json::Array calls;
  for (const Call& call : calls_) {
    if (!call.whole) continue;
    calls.push_back(json::Object{
        {"id", call.id},
        {"type", "function"},
        {"function", json::Object{{"name", call.name}, {"arguments", call.arguments}}}});
  }
  json::Object message;
  message["role"] = "assistant";
  message["content"] = content_;
  if (content_.empty() && !calls.empty()) message["content"] = nullptr;
  if (!reasoning_.empty()) {
    message["reasoning_content"] = reasoning_;
    message["reasoning"] = reasoning_;
  }
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  return message;
}

std::string_view OutputMessage::finish_reason(OutputEnd end) const {
  if (end == OutputEnd::kLength) return "length";
  return std::ranges::any_of(calls_, &Call::whole) ? "tool_calls" : "stop";
}

}  // namespace deltaserve
