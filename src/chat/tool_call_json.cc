// The Hermes syntax of tool calls.
#include "chat/tool_call_json.h"

#include <fmt/format.h>

#include "chat/output_control.h"
#include "chat/output_match.h"
#include "json/json.h"

namespace deltaserve {
namespace {

// The head is looked at again with every character, so one that goes on and on (names have at most
// 128 bytes) is read once instead, when the call is closed.
constexpr size_t kMaxHead = 1024;

// Walks over the expected beginning of a call; stays at the first part that does not match.
class HeadScanner {
 public:
  explicit HeadScanner(std::string_view text) : rest_(text) {}

  HeadScanner& expect(std::string_view literal) {
    if (match_ != Match::kYes) return *this;
    rest_.remove_prefix(count_spaces(rest_));
    match_ = match_prefix(rest_, literal);
    if (match_ == Match::kYes) rest_.remove_prefix(literal.size());
    return *this;
  }

  // A string without escapes.
  HeadScanner& string(std::string_view& out) {
    expect("\"");
    if (match_ != Match::kYes) return *this;
    const size_t close = rest_.find_first_of("\"\\\n\xF8\xF9\xFA\xFB");
    if (close == std::string_view::npos) {
      match_ = Match::kPartial;
    } else if (rest_[close] != '"' || close == 0) {
      match_ = Match::kNo;
    } else {
      out = rest_.substr(0, close);
      rest_.remove_prefix(close + 1);
    }
    return *this;
  }

  Match match() const { return match_; }

 private:
  std::string_view rest_;
  Match match_ = Match::kYes;
};

Match scan_head(std::string_view text, std::string_view& name) {
  return HeadScanner(text)
      .expect("{")
      .expect("\"name\"")
      .expect(":")
      .string(name)
      .expect(",")
      .expect("\"arguments\"")
      .expect(":")
      .expect("{")
      .match();
}

boost::json::parse_options validity_options() {
  boost::json::parse_options options;
  options.max_depth = json::ParseLimits{}.max_depth;
  return options;
}

// Arguments that came whole: an object, the same in a string, or nothing.
std::optional<std::string> whole_arguments(const json::Value* value) {
  if (value == nullptr || value->is_null()) return "{}";
  if (value->is_object()) return json::serialize(*value);
  if (!value->is_string()) return std::nullopt;
  const std::string_view text(value->get_string());
  if (count_spaces(text) == text.size()) return "{}";
  const auto parsed = json::parse(text);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  return std::string(text);
}

}  // namespace

JsonToolCall::JsonToolCall(int32_t index, ToolIdGenerator& ids)
    : index_(index), ids_(&ids), validity_(boost::json::storage_ptr(), validity_options()) {}

void JsonToolCall::Nesting::follow(char c) {
  if (in_string) {
    in_string = escaped || c != '"';
    escaped = !escaped && c == '\\';
  } else if (c == '"') {
    in_string = true;
  } else if (c == '{' || c == '[') {
    ++depth;
  } else if (c == '}' || c == ']') {
    --depth;
  }
}

size_t JsonToolCall::consume(std::string_view input, std::optional<OutputEnd> end,
                             EventSink& sink) {
  if (input.empty()) {
    if (end && (state_ == State::kHead || state_ == State::kWhole)) finish_whole(sink);
    return 0;
  }
  switch (state_) {
    case State::kHead:
      return take_head(input[0], sink);
    case State::kWhole:
      return take_whole(input[0], sink);
    case State::kArguments:
      return take_argument(input[0], sink);
    case State::kBroken:
      return take_broken(input[0]);
    case State::kTail:
      return take_tail(input[0]);
  }
  return 1;
}

size_t JsonToolCall::held() const {
  return state_ == State::kHead || state_ == State::kWhole ? head_.size() : 0;
}

size_t JsonToolCall::take_head(char c, EventSink& sink) {
  if (control::is_control(c)) {
    state_ = State::kWhole;
    return take_whole(c, sink);
  }
  head_ += c;
  nesting_.follow(c);
  std::string_view name;
  const Match match = head_.size() > kMaxHead ? Match::kNo : scan_head(head_, name);
  if (match == Match::kNo) state_ = State::kWhole;
  if (match == Match::kYes) {
    begin(name, sink);
    state_ = State::kArguments;
    nesting_ = {.depth = 1};  // inside the arguments, whose brace is the last character
    write_argument("{", sink);
  }
  return 1;
}

size_t JsonToolCall::take_whole(char c, EventSink& sink) {
  if (c == control::kToolCallClose && !nesting_.in_string) {
    if (!finish_whole(sink)) rejected_ = head_;
    done_ = true;
    return 0;
  }
  if (control::is_control(c)) {
    head_ += control::literal(c);
    return 1;
  }
  head_ += c;
  nesting_.follow(c);
  return 1;
}

size_t JsonToolCall::take_argument(char c, EventSink& sink) {
  if (control::is_control(c)) {
    if (nesting_.in_string) {
      write_argument(control::literal(c), sink);
      return 1;
    }
    state_ = State::kBroken;
    return take_broken(c);
  }
  const bool was_in_string = nesting_.in_string;
  nesting_.follow(c);
  if (was_in_string && static_cast<unsigned char>(c) < 0x20) {
    write_argument(fmt::format("\\u{:04x}", static_cast<int>(c)), sink);
  } else {
    write_argument({&c, 1}, sink);
  }
  if (state_ == State::kArguments && nesting_.depth == 0) {
    sink.end_call(index_);
    state_ = State::kTail;
    nesting_ = {.depth = 1};  // inside the call's own object
  }
  return 1;
}

// The rest of arguments that are no JSON: they stay as far as they went, the call never ends.
size_t JsonToolCall::take_broken(char c) {
  done_ = c == control::kToolCallClose;
  return done_ ? 0 : 1;
}

size_t JsonToolCall::take_tail(char c) {
  if (c == control::kToolCallClose || c == control::kToolCallOpen) {
    done_ = true;
    return 0;
  }
  nesting_.follow(c);
  done_ = nesting_.depth == 0;
  return 1;
}

void JsonToolCall::write_argument(std::string_view text, EventSink& sink) {
  boost::system::error_code error;
  validity_.write(text.data(), text.size(), error);
  if (error) {
    state_ = State::kBroken;
  } else {
    sink.arguments(index_, text);
  }
}

bool JsonToolCall::finish_whole(EventSink& sink) {
  const auto value = json::parse(head_);
  if (!value || !value->is_object()) return false;
  const json::Object& call = value->get_object();
  const json::Value* name = call.if_contains("name");
  const auto arguments = whole_arguments(call.if_contains("arguments"));
  if (name == nullptr || !name->is_string() || name->get_string().empty() || !arguments) {
    return false;
  }
  begin(std::string_view(name->get_string()), sink);
  sink.arguments(index_, *arguments);
  sink.end_call(index_);
  return true;
}

void JsonToolCall::begin(std::string_view name, EventSink& sink) {
  sink.begin_call(index_, ids_->next(), std::string(name));
}

}  // namespace deltaserve
