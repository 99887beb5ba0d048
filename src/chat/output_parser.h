// The one parser of model output, fed while it is generated: text and control tokens in, events
// out. How the text is cut into pieces never changes what the events of a kind join to, so an
// answer that is not streamed is the stream joined. One parser a choice.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/output_content.h"
#include "chat/output_control.h"
#include "chat/output_events.h"
#include "chat/output_reasoning.h"
#include "chat/tool_call_parser.h"
#include "chat/tool_ids.h"
#include "chat/tool_set.h"
#include "text/detokenizer.h"

namespace deltaserve {

struct OutputOptions {
  OutputStart start = OutputStart::kContent;
  ToolCallFormat format = ToolCallFormat::kNone;  // has to be kNone without tools
  std::shared_ptr<const ToolSet> tools;           // null: none
  bool split_reasoning = true;  // else the tags of a thought are text, and all of it is content
};

class OutputParser {
 public:
  explicit OutputParser(OutputOptions options, ToolIdGenerator ids = ToolIdGenerator());

  // Text of ordinary tokens, UTF-8 (cut anywhere).
  std::vector<OutputEvent> push_text(std::string_view text);
  std::vector<OutputEvent> push_control(ControlToken token);

  // Once, at the end.
  std::vector<OutputEvent> finish(OutputEnd end);

  OutputPart part() const { return splitter_.part(); }
  size_t num_bytes() const { return num_bytes_; }  // of input so far; a control token is one
  // Those of them that events have been made of, or that turned out to be layout.
  size_t num_settled() const;

 private:
  std::vector<OutputEvent> push_bytes();

  std::shared_ptr<const ToolSet> tools_;
  ToolIdGenerator ids_;
  ContentParser content_;
  ReasoningSplitter splitter_;
  bool split_reasoning_;
  std::string bytes_;
  size_t num_bytes_ = 0;
};

// An OutputParser fed with token ids: other special tokens give no text, and a character that is
// cut short by a control token or the end comes out as U+FFFD.
class OutputTokenParser {
 public:
  // `tokenizer` must outlive this.
  OutputTokenParser(const Tokenizer& tokenizer, OutputOptions options,
                    ToolIdGenerator ids = ToolIdGenerator());

  std::vector<OutputEvent> push(int32_t id);
  std::vector<OutputEvent> finish(OutputEnd end);

 private:
  ControlTokenIds control_ids_;
  Detokenizer detokenizer_;
  OutputParser parser_;
};

}  // namespace deltaserve
