// Reads the characters of a regular expression's pattern: a cursor, and the sets of characters that
// classes and escapes stand for. The parser above it knows groups, quantifiers and anchors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "grammar/char_set.h"

namespace deltaserve {

class RegexText {
 public:
  explicit RegexText(std::string_view pattern) : pattern_(pattern) {}

  bool done() const { return at_ >= pattern_.size() || error_.has_value(); }
  bool at_end() const { return at_ >= pattern_.size(); }
  char peek() const { return at_ < pattern_.size() ? pattern_[at_] : '\0'; }
  std::string_view rest() const { return pattern_.substr(at_); }
  void skip(size_t count) { at_ += count; }
  bool take(std::string_view text);

  // Keeps the first error and moves to the end.
  void refuse(std::string_view what);
  const std::optional<Error>& error() const { return error_; }

  CharSet bracket();  // at '['
  // At a backslash; in a class \b is a backspace.
  CharSet escape(bool in_class);
  char32_t next_char();  // the pattern is valid UTF-8

 private:
  bool bracket_literal() const;
  CharSet bracket_item(bool& is_class);
  char32_t hexadecimal(size_t digits);
  char32_t unicode_escape();
  CharSet category(bool negated);

  std::string_view pattern_;
  size_t at_ = 0;
  // By name: looking one up goes through all of Unicode, and a pattern may name it often.
  std::map<std::string, CharSet, std::less<>> categories_;
  std::optional<Error> error_;
};

}  // namespace deltaserve
