// What the output parser says: reasoning, content and tool calls as they come out of the model's
// text. Joined over a stream, the events of one kind are the whole answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deltaserve {

struct OutputEvent {
  enum class Kind : uint8_t {
    kReasoning,      // text
    kContent,        // text
    kToolCallBegin,  // index, id, name
    kArguments,      // index, text: the next bytes of a JSON object
    kToolCallEnd,    // index: the arguments are whole; a call that is cut has none
  };
  Kind kind = Kind::kContent;
  int32_t index = 0;  // of the tool call, from 0
  std::string text;
  std::string id;
  std::string name;
};

// Why the text is over: the model ended it, or it was cut at a limit.
enum class OutputEnd : uint8_t { kStop, kLength };

// Collects events; text of one kind that follows itself is one event.
class EventSink {
 public:
  explicit EventSink(std::vector<OutputEvent>& events) : events_(&events) {}

  void reasoning(std::string_view text) { add(OutputEvent::Kind::kReasoning, 0, text); }
  void content(std::string_view text) { add(OutputEvent::Kind::kContent, 0, text); }
  void arguments(int32_t index, std::string_view text) {
    add(OutputEvent::Kind::kArguments, index, text);
  }
  void begin_call(int32_t index, std::string id, std::string name) {
    events_->push_back(
        {OutputEvent::Kind::kToolCallBegin, index, {}, std::move(id), std::move(name)});
  }
  void add(OutputEvent event) { events_->push_back(std::move(event)); }
  void end_call(int32_t index) {
    events_->push_back({OutputEvent::Kind::kToolCallEnd, index, {}, {}, {}});
  }

 private:
  void add(OutputEvent::Kind kind, int32_t index, std::string_view text) {
    if (text.empty()) return;
    if (!events_->empty() && events_->back().kind == kind && events_->back().index == index) {
      events_->back().text += text;
    } else {
      events_->push_back({kind, index, std::string(text), {}, {}});
    }
  }

  std::vector<OutputEvent>* events_;
};

}  // namespace deltaserve
