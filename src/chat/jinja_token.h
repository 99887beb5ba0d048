// What template source is made of, for the parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chat/jinja_value.h"

namespace deltaserve::jinja {

enum class TokenKind : uint8_t {
  kData,
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t line = 1;
  std::string text;  // data, name, operator, or the unescaped string
  Int integer = 0;
  double floating = 0;

  bool is_operator(std::string_view symbol) const {
    return kind == TokenKind::kOperator && text == symbol;
  }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

// For messages: "end of statement block", "'foo'", ...
std::string describe(const Token& token);

[[noreturn]] void fail_syntax(uint32_t line, const std::string& message);

}  // namespace deltaserve::jinja
