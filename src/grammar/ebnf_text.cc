// The cursor's moves.
#include "grammar/ebnf_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace deltaserve {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

bool EbnfText::take(std::string_view token) {
  if (done() || !starts_with(token)) return false;
  at_ += token.size();
  return true;
}

void EbnfText::refuse(std::string_view what) {
  if (!error_) {
    const auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
    error_ = Error{ErrorCode::kInvalidArgument, fmt::format("Grammar, line {}: {}.", line, what),
                   "", ""};
  }
  at_ = text_.size();
}

void EbnfText::skip_space(bool lines) {
  while (!done()) {
    const char c = peek();
    if (c == '#' || (lark_ && c == '/' && peek(1) == '/')) {
      while (!done() && peek() != '\n') ++at_;
    } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
      ++at_;
    } else {
      return;
    }
  }
}

std::string_view EbnfText::name() {
  const size_t begin = at_;
  while (!done() && is_name(peek())) {
    if (peek() == '-' && peek(1) == '>') break;  // Lark's arrow behind a name
    ++at_;
  }
  return since(begin);
}

std::optional<int32_t> EbnfText::number() {
  skip_space(false);
  int32_t value = 0;
  const char* begin = text_.data() + at_;
  const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error_ || failed != std::errc() || value < 0) return std::nullopt;
  at_ += static_cast<size_t>(end - begin);
  skip_space(false);
  return value;
}

std::optional<std::string_view> EbnfText::delimited(char close) {
  const size_t begin = ++at_;
  while (!done() && peek() != close && peek() != '\n') at_ += peek() == '\\' ? 2 : 1;
  if (done() || peek() != close) {
    refuse(fmt::format("'{}' is expected", close));
    return std::nullopt;
  }
  return text_.substr(begin, at_++ - begin);
}

}  // namespace deltaserve
