// A cursor over the text of a grammar: names, numbers, quoted parts, white space and comments. The
// parser above it knows rules. Keeps the first error, with its line, and moves to the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace deltaserve {

class EbnfText {
 public:
  // `lark`: // begins a comment too.
  EbnfText(std::string_view text, bool lark) : text_(text), lark_(lark) {}

  bool done() const { return at_ >= text_.size() || error_.has_value(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() && !error_ ? text_[at_ + ahead] : '\0';
  }
  bool starts_with(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  bool take(std::string_view token);
  void skip(size_t count) { at_ += count; }
  void skip_space(bool lines);  // and comments; line ends only if `lines`

  size_t place() const { return at_; }
  void go_back(size_t place) { at_ = place; }
  std::string_view since(size_t place) const { return text_.substr(place, at_ - place); }

  std::string_view name();  // empty if there is none
  std::optional<int32_t> number();
  // At a delimiter: the text up to `close`, its escapes left as they are.
  std::optional<std::string_view> delimited(char close);

  void refuse(std::string_view what);
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view text_;
  bool lark_;
  size_t at_ = 0;
  std::optional<Error> error_;
};

}  // namespace deltaserve
