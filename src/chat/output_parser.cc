// Puts the parts together: reasoning splitter, content parser, call parsers.
#include "chat/output_parser.h"

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
      splitter_(options.start, options.format, *tools_, ids_, content_) {
  DS_CHECK(options.format == ToolCallFormat::kNone || !tools_->empty());
}

std::vector<OutputEvent> OutputParser::push_text(std::string_view text) {
  std::vector<OutputEvent> events;
  EventSink sink(events);
  bytes_.clear();
  control::append_text(text, bytes_);
  splitter_.push(bytes_, sink);
  return events;
}

std::vector<OutputEvent> OutputParser::push_control(ControlToken token) {
  std::vector<OutputEvent> events;
  EventSink sink(events);
  const char byte = control::to_byte(token);
  splitter_.push({&byte, 1}, sink);
  return events;
}

std::vector<OutputEvent> OutputParser::finish(OutputEnd end) {
  std::vector<OutputEvent> events;
  EventSink sink(events);
  splitter_.finish(end, sink);
  return events;
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
