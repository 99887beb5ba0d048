// The thought of an answer.
#include "chat/output_reasoning.h"

#include <algorithm>
#include <vector>

#include "chat/output_control.h"
#include "chat/tool_call_xml.h"

namespace deltaserve {
namespace {

constexpr std::string_view kBorders = " \t\r\n\xF8\xF9\xFA\xFB";

// More of them between <tool_call> and a call are no call, and need not be counted on and on.
constexpr size_t kMaxBlanks = 256;

}  // namespace

OutputStart output_start(std::string_view prompt_text) {
  while (!prompt_text.empty() && is_space(prompt_text.back())) prompt_text.remove_suffix(1);
  if (prompt_text.ends_with("<think>")) return OutputStart::kReasoning;
  if (prompt_text.ends_with("</think>")) return OutputStart::kAfterThought;
  return OutputStart::kContent;
}

ReasoningSplitter::ReasoningSplitter(OutputStart start, ToolCallFormat format, const ToolSet& tools,
                                     const ToolIdGenerator& ids, ContentParser& content)
    : state_(start == OutputStart::kReasoning ? State::kThought : State::kBefore),
      format_(format),
      tools_(&tools),
      ids_(&ids),
      content_(&content) {
  if (start == OutputStart::kAfterThought) content_->after_thought();
}

void ReasoningSplitter::push(std::string_view bytes, EventSink& sink) {
  while (!bytes.empty()) bytes.remove_prefix(take(bytes, sink));
}

void ReasoningSplitter::finish(OutputEnd end, EventSink& sink) {
  if (state_ == State::kCallInThought) {
    if (recover_call(sink)) return;
    give_up_call(sink);
  }
  if (state_ == State::kBefore) content_->push(space_, sink);
  content_->finish(end, sink);
}

OutputPart ReasoningSplitter::part() const {
  if (state_ == State::kThought) return OutputPart::kThought;
  return state_ == State::kCallInThought ? OutputPart::kCallInThought : OutputPart::kAnswer;
}

size_t ReasoningSplitter::held() const {
  return space_.size() + call_.size() + content_->held();
}

size_t ReasoningSplitter::take(std::string_view input, EventSink& sink) {
  switch (state_) {
    case State::kBefore:
      return take_before(input, sink);
    case State::kThought:
      return take_thought(input, sink);
    case State::kCallInThought:
      return take_call(input[0], sink);
    case State::kContent:
      break;
  }
  content_->push(input, sink);
  return input.size();
}

// Nothing but blanks has come yet, so a thought may begin.
size_t ReasoningSplitter::take_before(std::string_view input, EventSink& sink) {
  if (const size_t blanks = count_spaces(input); blanks > 0) {
    space_ += input.substr(0, blanks);
    return blanks;
  }
  if (input[0] == control::kThinkOpen) {
    state_ = State::kThought;
    return 1;
  }
  if (input[0] == control::kThinkClose) {
    end_thought();
    return 1;
  }
  state_ = State::kContent;
  content_->push(space_, sink);
  space_.clear();
  return 0;
}

size_t ReasoningSplitter::take_thought(std::string_view input, EventSink& sink) {
  if (const size_t blanks = count_spaces(input); blanks > 0) {
    space_ += input.substr(0, blanks);
    return blanks;
  }
  const char c = input[0];
  if (c == control::kThinkClose) {
    end_thought();
    return 1;
  }
  if (c == control::kToolCallOpen && format_ != ToolCallFormat::kNone) {
    state_ = State::kCallInThought;
    return take_call(c, sink);
  }
  if (control::is_control(c)) {
    const bool echo = c == control::kThinkOpen && !thought_begun_;
    if (!echo) emit(control::literal(c), sink);
    return 1;
  }
  const size_t n = std::min(input.size(), input.find_first_of(kBorders));
  emit(input.substr(0, n), sink);
  return n;
}

size_t ReasoningSplitter::take_call(char c, EventSink& sink) {
  if (c == control::kThinkClose) {
    give_up_call(sink);
    return 0;
  }
  if (call_closed_ && !is_space(c) && c != control::kToolCallOpen) {
    give_up_call(sink);
    return 0;
  }
  if (c == control::kToolCallOpen && (call_.empty() || call_closed_)) {
    last_call_ = call_.size();
    head_decided_ = false;
    call_closed_ = false;
  }
  if (c == control::kToolCallClose) call_closed_ = true;
  call_ += c;
  if (!head_decided_ && !may_be_call()) give_up_call(sink);
  return 1;
}

// Whether the last call still reads like one to a declared tool; decides once its name is known.
bool ReasoningSplitter::may_be_call() {
  std::string_view text = std::string_view(call_).substr(last_call_ + 1);
  const size_t blanks = count_spaces(text);
  if (blanks > kMaxBlanks) return false;
  text.remove_prefix(blanks);
  if (text.empty()) return true;
  if (format_ == ToolCallFormat::kJson) {
    head_decided_ = true;
    return text[0] == '{';
  }
  const XmlCallHead head = match_xml_call(text);
  head_decided_ = head.match == Match::kYes;
  return head.match == Match::kPartial || (head_decided_ && tools_->find(head.name) != nullptr);
}

void ReasoningSplitter::give_up_call(EventSink& sink) {
  state_ = State::kThought;
  const std::string text = control::expand(call_);
  call_.clear();
  call_closed_ = false;
  std::string_view rest = text;
  while (!rest.empty()) rest.remove_prefix(take_thought(rest, sink));
}

// At the end of the text: all of `call_` as calls.
bool ReasoningSplitter::recover_call(EventSink& sink) const {
  if (!call_closed_) return false;
  std::vector<OutputEvent> events;
  EventSink trial(events);
  ContentParser parser(format_, *tools_, *ids_);
  parser.push(call_, trial);
  parser.finish(OutputEnd::kStop, trial);
  int32_t open = 0;
  for (const OutputEvent& event : events) {
    if (event.kind == OutputEvent::Kind::kContent) return false;
    if (event.kind == OutputEvent::Kind::kToolCallEnd) --open;
    if (event.kind == OutputEvent::Kind::kToolCallBegin) {
      ++open;
      if (tools_->find(event.name) == nullptr) return false;
    }
  }
  if (open != 0 || events.empty()) return false;
  for (OutputEvent& event : events) sink.add(std::move(event));
  return true;
}

void ReasoningSplitter::emit(std::string_view text, EventSink& sink) {
  if (thought_begun_) sink.reasoning(space_);
  sink.reasoning(text);
  space_.clear();
  thought_begun_ = true;
}

void ReasoningSplitter::end_thought() {
  state_ = State::kBefore;
  space_.clear();
  content_->after_thought();
}

}  // namespace deltaserve
