// OpenAI's assistant message and finish reason out of parser events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/output_events.h"
#include "json/json.h"

namespace deltaserve {

class OutputMessage {
 public:
  void add(const std::vector<OutputEvent>& events);

  // {role, content, reasoning_content, reasoning, tool_calls}: the thought under both names and
  // calls only where there are any; content null beside calls if it is empty. A call that was cut
  // is left out.
  json::Object message() const;

  // "tool_calls" for an answer that ended by itself and has a call, else "stop" or "length".
  std::string_view finish_reason(OutputEnd end) const;

  const std::string& content() const { return content_; }
  const std::string& reasoning() const { return reasoning_; }

 private:
  struct Call {
    int32_t index = 0;
    std::string id;
    std::string name;
    std::string arguments;
    bool whole = false;
  };
  Call& call(int32_t index);

  std::string content_;
  std::string reasoning_;
  std::vector<Call> calls_;
};

}  // namespace deltaserve
