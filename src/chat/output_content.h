// The part of an answer behind the thought: content with tool calls in it. Blanks around calls and
// at the start are not content; tags of calls never are while the request has tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "chat/output_match.h"
#include "chat/tool_call_parser.h"
#include "chat/tool_ids.h"
#include "chat/tool_set.h"

namespace deltaserve {

class ContentParser {
 public:
  // `tools` must outlive this. With kNone tags of calls are text.
  ContentParser(ToolCallFormat format, const ToolSet& tools, ToolIdGenerator ids)
      : format_(format), tools_(&tools), ids_(ids) {}

  ContentParser(const ContentParser&) = delete;
  ContentParser& operator=(const ContentParser&) = delete;

  // The text follows a thought, whose newlines at its start are not content.
  void after_thought() { strip_newlines_ = true; }

  // Bytes with control bytes (output_control.h).
  void push(std::string_view bytes, EventSink& sink);
  void finish(OutputEnd end, EventSink& sink);

  size_t held() const;  // bytes at the end of the input that no event has been made of yet

 private:
  void run(std::optional<OutputEnd> end, EventSink& sink);

  // Each returns how many bytes it took, possibly none where only the state changed; nothing if it
  // has to see more.
  using Taken = std::optional<size_t>;
  Taken consume(std::string_view input, std::optional<OutputEnd> end, EventSink& sink);
  Taken consume_text(std::string_view input, std::optional<OutputEnd> end, EventSink& sink);
  Taken consume_tag(std::string_view input, std::optional<OutputEnd> end);
  Taken consume_control(char c, EventSink& sink);
  Taken consume_call_head(std::string_view input, std::optional<OutputEnd> end, EventSink& sink);
  Taken consume_call(std::string_view input, std::optional<OutputEnd> end, EventSink& sink);
  bool at_line_start() const;
  Match match_bare_call(std::string_view input) const;
  void emit(std::string_view text, EventSink& sink);
  bool has_tools() const { return format_ != ToolCallFormat::kNone; }

  ToolCallFormat format_;
  const ToolSet* tools_;
  ToolIdGenerator ids_;
  std::string held_;   // bytes whose meaning depends on what follows
  std::string space_;  // blanks that are content only if more content follows
  std::unique_ptr<ToolCallParser> call_;
  int32_t num_calls_ = 0;
  int32_t open_thinks_ = 0;  // <think> shown as text that a </think> may close
  bool awaiting_call_ = false;
  bool after_call_ = false;
  bool started_ = false;
  bool strip_newlines_ = false;
};

}  // namespace deltaserve
