// The XML-like syntax of tool calls.
#include "chat/tool_call_xml.h"

#include <algorithm>

#include "chat/output_control.h"

namespace deltaserve {
namespace {

constexpr std::string_view kFunction = "<function=";
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kParameterEnd = "</parameter>";

// Names and keys are at most 128 bytes where requests are checked; beyond this it is no tag.
constexpr size_t kMaxName = 256;

// An end tag that is followed by more blanks than this is taken as part of the value, so that text
// made of blanks cannot be held back and looked through again and again.
constexpr size_t kMaxBlanks = 256;

struct Tag {
  Match match = Match::kNo;
  std::string_view name;
  size_t length = 0;
};

// `<word=NAME>` where `open` is "<word=".
Tag match_tag(std::string_view text, std::string_view open) {
  const Match begun = match_prefix(text, open);
  if (begun != Match::kYes) return {begun, {}, 0};
  const std::string_view rest = text.substr(open.size());
  const auto stop = std::ranges::find_if(
      rest, [](char c) { return c == '>' || c == '\n' || control::is_control(c); });
  const auto size = static_cast<size_t>(stop - rest.begin());
  if (size > kMaxName) return {};
  if (stop == rest.end()) return {Match::kPartial, {}, 0};
  if (*stop != '>' || size == 0) return {};
  return {Match::kYes, rest.substr(0, size), open.size() + size + 1};
}

// What must follow an end tag: blanks, then one of `accepted`. At the end of the text nothing more
// is asked for if `at_end`.
Match match_follower(std::string_view text, std::initializer_list<std::string_view> accepted,
                     bool ended, bool at_end) {
  const size_t blanks = count_spaces(text);
  if (blanks > kMaxBlanks) return Match::kNo;
  const std::string_view rest = text.substr(blanks);
  if (rest.empty()) {
    if (!ended) return Match::kPartial;
    return at_end ? Match::kYes : Match::kNo;
  }
  Match best = Match::kNo;
  for (const std::string_view follower : accepted) {
    best = std::max(best, match_prefix(rest, follower));
  }
  return best;
}

constexpr std::string_view kCloseToken(&control::kToolCallClose, 1);
constexpr std::string_view kOpenToken(&control::kToolCallOpen, 1);

}  // namespace

XmlCallHead match_xml_call(std::string_view text) {
  const Tag tag = match_tag(text, kFunction);
  return {tag.match, tag.name, tag.length};
}

size_t XmlToolCall::consume(std::string_view input, std::optional<OutputEnd> end, EventSink& sink) {
  return in_value_ ? consume_value(input, end, sink) : consume_between(input, end, sink);
}

size_t XmlToolCall::consume_between(std::string_view input, std::optional<OutputEnd> end,
                                    EventSink& sink) {
  if (input.empty()) {
    if (end == OutputEnd::kStop) end_call(sink);
    return 0;
  }
  if (const size_t blanks = count_spaces(input); blanks > 0) return blanks;
  if (input[0] == control::kToolCallClose || input[0] == control::kToolCallOpen) {
    end_call(sink);
    return 0;
  }
  return input[0] == '<' ? consume_tag(input, end, sink)
                         : std::min(input.size(), input.find_first_of("<\n\xFA\xFB", 1));
}

size_t XmlToolCall::consume_tag(std::string_view input, std::optional<OutputEnd> end,
                                EventSink& sink) {
  const Tag parameter = match_tag(input, kParameter);
  if (parameter.match == Match::kYes) {
    begin_value(parameter.name, sink);
    return parameter.length;
  }
  const Match closed = match_prefix(input, kFunctionEnd);
  if (closed == Match::kYes) {
    end_call(sink);
    return kFunctionEnd.size();
  }
  const bool partial = parameter.match == Match::kPartial || closed == Match::kPartial;
  if (partial) return end ? input.size() : 0;
  return 1;
}

size_t XmlToolCall::consume_value(std::string_view input, std::optional<OutputEnd> end,
                                  EventSink& sink) {
  if (input.empty()) return 0;
  if (skip_newline_) {
    skip_newline_ = false;
    if (input[0] == '\n') return 1;
  }
  const size_t plain = std::min(input.size(), input.find_first_of("\n<\xF8\xF9\xFA\xFB"));
  if (plain > 0) {
    take_text(input.substr(0, plain), sink);
    return plain;
  }
  const ValueEnd found = find_value_end(input, end);
  if (found.match == Match::kPartial) return end ? input.size() : 0;
  if (found.match == Match::kYes) {
    arguments_.end(sink);
    in_value_ = false;
    return found.length;
  }
  take_text(control::expand(input.substr(0, 1)), sink);
  return 1;
}

void XmlToolCall::take_text(std::string_view text, EventSink& sink) {
  arguments_.text(text, sink);
  if (json_) json_->read(text);
  line_start_ = false;
}

// The value ends before: `</parameter>` where another tag or the call's end follows; where that tag
// is missing, `</function>` and the closing token, a new declared parameter on a line of its own,
// or the closing token at the end of the text. JSON has no line breaks in strings, so a tag on a
// line of its own ends a value even if its last string does not.
XmlToolCall::ValueEnd XmlToolCall::find_value_end(std::string_view text,
                                                  std::optional<OutputEnd> end) const {
  const size_t newline = text[0] == '\n' ? 1 : 0;
  const std::string_view rest = text.substr(newline);
  if (rest.empty()) return {Match::kPartial, 0};
  const bool ended = end.has_value();
  const bool stopped = end == OutputEnd::kStop;
  if (rest[0] == control::kToolCallClose) {
    return {match_follower(rest.substr(1), {kOpenToken}, ended, stopped), newline};
  }
  const Match own = match_prefix(rest, kParameterEnd);
  if (own == Match::kPartial) return {Match::kPartial, 0};
  if (own == Match::kYes && newline == 0 && json_ && json_->in_string()) return {};
  if (own == Match::kYes) {
    const Match follower =
        match_follower(rest.substr(kParameterEnd.size()),
                       {kParameter, kFunctionEnd.substr(0, kFunctionEnd.size() - 1), kParameterEnd,
                        kCloseToken, kOpenToken},
                       ended, true);
    return {follower, newline + kParameterEnd.size()};
  }
  if (newline == 0 && !line_start_) return {};
  const Match function = match_prefix(rest, kFunctionEnd);
  if (function == Match::kPartial) return {Match::kPartial, 0};
  if (function == Match::kYes) {
    const std::string_view after = rest.substr(kFunctionEnd.size());
    return {match_follower(after, {kCloseToken}, ended, stopped), newline};
  }
  return {match_next_parameter(rest), newline};
}

Match XmlToolCall::match_next_parameter(std::string_view text) const {
  const Match begun = match_prefix(text, kParameter);
  if (begun != Match::kYes || tool_ == nullptr) return tool_ == nullptr ? Match::kNo : begun;
  const std::string_view rest = text.substr(kParameter.size());
  Match best = Match::kNo;
  for (const auto& [key, types] : tool_->parameters) {
    if (!seen_.contains(key)) best = std::max(best, match_prefix(rest, key + ">"));
  }
  return best;
}

void XmlToolCall::begin_value(std::string_view key, EventSink& sink) {
  const ArgumentTypes types = tool_ == nullptr ? ArgumentTypes::only_string() : tool_->types(key);
  arguments_.begin(key, types, sink);
  json_.reset();
  if (!types.string && (types.object || types.array)) json_.emplace();
  seen_.emplace(key);
  in_value_ = true;
  skip_newline_ = true;
  line_start_ = true;
}

void XmlToolCall::end_call(EventSink& sink) {
  arguments_.close(sink);
  sink.end_call(index_);
  done_ = true;
}

}  // namespace deltaserve
