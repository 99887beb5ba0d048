// The arguments of one call as a growing JSON object: strings go out while they arrive, other types
// once their text is whole. What has been written is at any time the beginning of valid JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chat/argument_types.h"
#include "chat/output_events.h"

namespace deltaserve {

class ArgumentWriter {
 public:
  explicit ArgumentWriter(int32_t index) : index_(index) {}

  void begin(std::string_view key, const ArgumentTypes& types, EventSink& sink);
  void text(std::string_view text, EventSink& sink);
  void end(EventSink& sink);    // of the argument
  void close(EventSink& sink);  // of the object

  size_t held() const { return buffer_.size(); }  // text of the argument that waits for its end

 private:
  enum class Mode : uint8_t { kStream, kNullOrStream, kBuffer };

  int32_t index_;
  bool empty_ = true;
  Mode mode_ = Mode::kStream;
  ArgumentTypes types_;
  std::string buffer_;
};

}  // namespace deltaserve
