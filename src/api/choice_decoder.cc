// ChoiceDecoder: ids to text and tags, text and tags to events.
#include "api/choice_decoder.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace deltaserve {
namespace {

bool begins_call(const OutputEvent& event) {
  return event.kind == OutputEvent::Kind::kToolCallBegin;
}

// Whether a tag came out of the parser as text.
bool shows(const std::vector<OutputEvent>& events, ControlToken token) {
  return !events.empty() && events.back().text.ends_with(control::literal(token));
}

}  // namespace

ChoiceDecoder::ChoiceDecoder(const Tokenizer& tokenizer, const ResponseOptions& options)
    : tokenizer_(&tokenizer),
      control_ids_(tokenizer),
      detokenizer_(tokenizer, options.skip_special_tokens),
      skips_special_(options.skip_special_tokens) {
  if (options.output) {
    parser_.emplace(*options.output);
  }
}

std::vector<OutputEvent> ChoiceDecoder::push(int32_t id) {
  const ControlToken token = parser_ ? control_ids_.kind(id) : ControlToken::kNone;
  if (token == ControlToken::kNone) {
    last_is_visible_ = !(skips_special_ && tokenizer_->is_special(id));
    std::vector<OutputEvent> events = push_text(detokenizer_.push(id));
    count(token);
    return events;
  }
  std::vector<OutputEvent> events = push_text(detokenizer_.finish());
  std::vector<OutputEvent> more = parser_->push_control(token);
  last_is_visible_ = shows(more, token);
  std::ranges::move(more, std::back_inserter(events));
  count(token);
  return events;
}

std::vector<OutputEvent> ChoiceDecoder::finish(OutputEnd end) {
  std::vector<OutputEvent> events = push_text(detokenizer_.finish());
  if (!parser_) {
    return events;
  }
  std::vector<OutputEvent> more = parser_->finish(end);
  if (std::ranges::none_of(more, begins_call)) {
    num_reasoning_tokens_ += num_doubtful_tokens_;
  }
  num_doubtful_tokens_ = 0;
  std::ranges::move(more, std::back_inserter(events));
  return events;
}

std::vector<OutputEvent> ChoiceDecoder::push_text(std::string_view text) {
  if (parser_) {
    return parser_->push_text(text);
  }
  num_raw_bytes_ += text.size();
  std::vector<OutputEvent> events;
  EventSink(events).content(text);
  return events;
}

void ChoiceDecoder::count(ControlToken token) {
  const OutputPart part = parser_ ? parser_->part() : OutputPart::kAnswer;
  if (part == OutputPart::kCallInThought) {
    ++num_doubtful_tokens_;
    return;
  }
  const bool tag = token == ControlToken::kThinkOpen || token == ControlToken::kThinkClose;
  num_reasoning_tokens_ += std::exchange(num_doubtful_tokens_, 0);
  if (part == OutputPart::kThought && !tag) {
    ++num_reasoning_tokens_;
  }
}

}  // namespace deltaserve
