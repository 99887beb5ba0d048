// Content and the borders of tool calls.
#include "chat/output_content.h"

#include <algorithm>

#include "chat/output_control.h"
#include "chat/tool_call_json.h"
#include "chat/tool_call_xml.h"

namespace deltaserve {
namespace {

// Where plain text stops: at blanks, what may begin a tag, and control bytes.
constexpr std::string_view kBorders = " \t\r\n<\xF8\xF9\xFA\xFB";

// Closing tags that models put behind a call that is closed already: `</` and a name that begins
// with one of these words.
constexpr std::string_view kJunkWords[] = {"function", "tool", "parameter", "invoke"};

// The longest name of such a tag that has been seen is 20 bytes.
constexpr size_t kMaxJunk = 32;

struct Junk {
  Match match = Match::kNo;
  size_t length = 0;
};

Junk match_junk(std::string_view text) {
  const Match begun = match_prefix(text, "</");
  if (begun != Match::kYes) return {begun, 0};
  const std::string_view name = text.substr(2);
  Match word = Match::kNo;
  for (const std::string_view junk : kJunkWords) word = std::max(word, match_prefix(name, junk));
  if (word != Match::kYes) return {word, 0};
  const auto stop =
      std::ranges::find_if_not(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  const auto size = static_cast<size_t>(stop - name.begin());
  if (size > kMaxJunk) return {};
  if (stop == name.end()) return {Match::kPartial, 0};
  return *stop == '>' ? Junk{Match::kYes, size + 3} : Junk{};
}

}  // namespace

void ContentParser::push(std::string_view bytes, EventSink& sink) {
  held_ += bytes;
  run(std::nullopt, sink);
}

void ContentParser::finish(OutputEnd end, EventSink& sink) {
  run(end, sink);
  const bool in_call = awaiting_call_ || call_ != nullptr;
  if (call_ != nullptr) call_->consume({}, end, sink);
  const bool verbatim = started_ || (!strip_newlines_ && num_calls_ == 0);
  if (verbatim && !in_call && !after_call_) sink.content(space_);
  space_.clear();
}

size_t ContentParser::held() const {
  return held_.size() + space_.size() + (call_ != nullptr ? call_->held() : 0);
}

void ContentParser::run(std::optional<OutputEnd> end, EventSink& sink) {
  size_t used = 0;
  while (used < held_.size()) {
    const Taken taken = consume(std::string_view(held_).substr(used), end, sink);
    if (!taken) break;
    used += *taken;
  }
  held_.erase(0, used);
}

ContentParser::Taken ContentParser::consume(std::string_view input, std::optional<OutputEnd> end,
                                            EventSink& sink) {
  if (call_ != nullptr) return consume_call(input, end, sink);
  if (awaiting_call_) return consume_call_head(input, end, sink);
  if (control::is_control(input[0])) return consume_control(input[0], sink);
  return consume_text(input, end, sink);
}

ContentParser::Taken ContentParser::consume_text(std::string_view input,
                                                 std::optional<OutputEnd> end, EventSink& sink) {
  if (const size_t blanks = count_spaces(input); blanks > 0) {
    space_ += input.substr(0, blanks);
    if (!has_tools() && started_) emit({}, sink);
    return blanks;
  }
  if (input[0] == '<' && has_tools()) {
    const Taken taken = consume_tag(input, end);
    if (taken != size_t{0} || awaiting_call_) return taken;
  }
  const size_t n = std::min(input.size(), input.find_first_of(kBorders, 1));
  emit(input.substr(0, n), sink);
  return n;
}

// Calls without their opening token, and junk behind calls. Takes nothing where `<` is just text.
ContentParser::Taken ContentParser::consume_tag(std::string_view input,
                                                std::optional<OutputEnd> end) {
  const Match bare = at_line_start() ? match_bare_call(input) : Match::kNo;
  if (bare == Match::kYes) {
    awaiting_call_ = true;
    return 0;
  }
  if (bare == Match::kPartial) {
    if (!end) return std::nullopt;
    // A declared name that is cut is the beginning of a call; less than that may be anything.
    return input.find('=') == std::string_view::npos ? 0 : input.size();
  }
  if (!after_call_) return 0;
  const Junk junk = match_junk(input);
  if (junk.match == Match::kPartial) return end ? Taken(input.size()) : std::nullopt;
  if (junk.match == Match::kYes) space_.clear();
  return junk.match == Match::kYes ? junk.length : 0;
}

ContentParser::Taken ContentParser::consume_control(char c, EventSink& sink) {
  const bool of_call = c == control::kToolCallOpen || c == control::kToolCallClose;
  if (of_call && has_tools()) {
    awaiting_call_ = c == control::kToolCallOpen;
    if (after_call_) space_.clear();
    return 1;
  }
  if (c == control::kThinkClose && open_thinks_ == 0) return 1;
  if (c == control::kThinkOpen) ++open_thinks_;
  if (c == control::kThinkClose) --open_thinks_;
  emit(control::literal(c), sink);
  return 1;
}

// Behind `<tool_call>`, or at a bare `<function=`. What is no call goes on as text.
ContentParser::Taken ContentParser::consume_call_head(std::string_view input,
                                                      std::optional<OutputEnd> end,
                                                      EventSink& sink) {
  if (const size_t blanks = count_spaces(input); blanks > 0) return blanks;
  size_t taken = 0;
  if (format_ == ToolCallFormat::kJson) {
    if (input[0] == '{') call_ = std::make_unique<JsonToolCall>(num_calls_, ids_);
  } else {
    const XmlCallHead head = match_xml_call(input);
    if (head.match == Match::kPartial) return end ? Taken(input.size()) : std::nullopt;
    if (head.match == Match::kYes) {
      call_ = std::make_unique<XmlToolCall>(num_calls_, tools_->find(head.name));
      sink.begin_call(num_calls_, ids_.next(), std::string(head.name));
      taken = head.length;
    }
  }
  awaiting_call_ = false;
  if (call_ != nullptr) {
    space_.clear();
  } else if (!control::is_control(input[0])) {
    taken = std::min(input.size(), input.find_first_of(kBorders, 1));
    emit(input.substr(0, taken), sink);
  }
  return taken;
}

ContentParser::Taken ContentParser::consume_call(std::string_view input,
                                                 std::optional<OutputEnd> end, EventSink& sink) {
  const size_t taken = call_->consume(input, end, sink);
  if (!call_->done()) return taken == 0 ? std::nullopt : Taken(taken);
  const std::string rejected = call_->rejected();
  call_.reset();
  if (rejected.empty()) {
    ++num_calls_;
    after_call_ = true;
  } else {
    emit(rejected, sink);
  }
  return taken;
}

bool ContentParser::at_line_start() const {
  return space_.ends_with('\n') || (space_.empty() && (after_call_ || !started_));
}

Match ContentParser::match_bare_call(std::string_view input) const {
  if (format_ != ToolCallFormat::kXml) return Match::kNo;
  Match best = Match::kNo;
  for (const DeclaredTool& tool : tools_->tools()) {
    best = std::max(best, match_prefix(input, "<function=" + tool.name + ">"));
  }
  return best;
}

void ContentParser::emit(std::string_view text, EventSink& sink) {
  if (!started_ && (strip_newlines_ || num_calls_ > 0)) {
    space_.erase(0, std::min(space_.size(), space_.find_first_not_of('\n')));
  }
  sink.content(space_);
  sink.content(text);
  space_.clear();
  started_ = true;
  after_call_ = false;
}

}  // namespace deltaserve
