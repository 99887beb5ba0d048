// One tool call while it arrives. Two syntaxes implement this; the content parser finds where a
// call begins and takes over again where it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chat/output_events.h"

namespace deltaserve {

enum class ToolCallFormat : uint8_t {
  kNone,  // the request has no tools: tags are text
  kXml,   // <function=NAME> with <parameter=KEY> blocks
  kJson,  // {"name": ..., "arguments": {...}}
};

// The syntax that a chat template teaches the model.
inline ToolCallFormat tool_call_format(std::string_view template_source) {
  return template_source.find("<function=") == std::string_view::npos ? ToolCallFormat::kJson
                                                                      : ToolCallFormat::kXml;
}

class ToolCallParser {
 public:
  virtual ~ToolCallParser() = default;

  // Takes bytes (with control bytes, output_control.h) off the front of `input` and returns how
  // many; the caller offers the rest again, with more behind it. With `end` no more will come and
  // all that is left is taken.
  virtual size_t consume(std::string_view input, std::optional<OutputEnd> end, EventSink& sink) = 0;

  // Bytes taken last that no event has been made of yet.
  virtual size_t held() const = 0;

  bool done() const { return done_; }

  // Text that turned out not to be a call; "" for a call.
  const std::string& rejected() const { return rejected_; }

 protected:
  bool done_ = false;
  std::string rejected_;
};

}  // namespace deltaserve
