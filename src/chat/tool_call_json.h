// {"name": ..., "arguments": {...}} calls, from the opening brace to the end of the object. With
// the name first, as the template writes it, arguments go out while they arrive and in the model's
// own spelling; any other order or form is read once the call is whole.
#pragma once

#include <boost/json/stream_parser.hpp>
#include <string>

#include "chat/tool_call_parser.h"
#include "chat/tool_ids.h"

namespace deltaserve {

class JsonToolCall : public ToolCallParser {
 public:
  // `ids` gives the call's id once it turns out to be one; it must outlive this.
  JsonToolCall(int32_t index, ToolIdGenerator& ids);

  size_t consume(std::string_view input, std::optional<OutputEnd> end, EventSink& sink) override;
  size_t held() const override;

 private:
  enum class State : uint8_t { kHead, kWhole, kArguments, kBroken, kTail };

  size_t take_head(char c, EventSink& sink);
  size_t take_whole(char c, EventSink& sink);
  size_t take_argument(char c, EventSink& sink);
  size_t take_broken(char c);
  size_t take_tail(char c);
  void write_argument(std::string_view text, EventSink& sink);
  bool finish_whole(EventSink& sink);  // false: it is no call
  void begin(std::string_view name, EventSink& sink);

  // Follows strings and nesting; call with every character of the object.
  struct Nesting {
    int depth = 0;
    bool in_string = false;
    bool escaped = false;
    void follow(char c);
  };

  int32_t index_;
  ToolIdGenerator* ids_;
  State state_ = State::kHead;
  Nesting nesting_;
  std::string head_;                     // the call so far, until its arguments stream
  boost::json::stream_parser validity_;  // of the arguments
};

}  // namespace deltaserve
