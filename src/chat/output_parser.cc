// Puts the parts together: reasoning splitter, content parser, call parsers.
#include "chat/output_parser.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace deltaserve {
namespace {

std::shared_ptr<const ToolSet> or_empty(std::shared_ptr<const ToolSet> tools) {
  return tools != nullptr ? std::move(tools) : std::make_shared<const ToolSet>();
}

void append(std::vector<OutputEvent>& events, std::vector<OutputEvent> more) {
  events.insert(events.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

}  // namespace

OutputParser::OutputParser(OutputOptions options, ToolIdGenerator ids)
    : tools_(or_empty(std::move(options.tools))),
      ids_(ids),
      content_(options.format, *tools_, ids_),
      splitter_(options.split_reasoning ? options.start : OutputStart::kContent, options.format,
                *tools_, ids_, content_),
      split_reasoning_(options.split_reasoning) {
  DS_CHECK(options.format == ToolCallFormat::kNone || !tools_->empty());
}

std::vector<OutputEvent> OutputParser::push_text(std::string_view text) {
  bytes_.clear();
  control::append_text(text, bytes_);
  return push_bytes();
}

std::vector<OutputEvent> OutputParser::push_control(ControlToken token) {
  const bool of_thought = token == ControlToken::kThinkOpen || token == ControlToken::kThinkClose;
  if (of_thought && !split_reasoning_) return push_text(control::literal(token));
  bytes_.assign(1, control::to_byte(token));
  return push_bytes();
}

std::vector<OutputEvent> OutputParser::push_bytes() {
  std::vector<OutputEvent> events;
  EventSink sink(events);
  splitter_.push(bytes_, sink);
  num_bytes_ += bytes_.size();
  return events;
}

std::vector<OutputEvent> OutputParser::finish(OutputEnd end) {
  std::vector<OutputEvent> events;
  EventSink sink(events);
  splitter_.finish(end, sink);
  return events;
}

// Tags that turned out to be text are longer than they came in.
size_t OutputParser::num_settled() const {
  return num_bytes_ - std::min(num_bytes_, splitter_.held());
}

OutputTokenParser::OutputTokenParser(const Tokenizer& tokenizer, OutputOptions options,
                                     ToolIdGenerator ids)
    : control_ids_(tokenizer), detokenizer_(tokenizer, true), parser_(std::move(options), ids) {}

std::vector<OutputEvent> OutputTokenParser::push(int32_t id) {
  const ControlToken token = control_ids_.kind(id);
  if (token == ControlToken::kNone) return parser_.push_text(detokenizer_.push(id));
  std::vector<OutputEvent> events = parser_.push_text(detokenizer_.finish());
  append(events, parser_.push_control(token));
  return events;
}

std::vector<OutputEvent> OutputTokenParser::finish(OutputEnd end) {
  std::vector<OutputEvent> events = parser_.push_text(detokenizer_.finish());
  append(events, parser_.finish(end));
  return events;
}

}  // namespace deltaserve
