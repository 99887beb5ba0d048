// Template source to tokens, with jinja2's white space control under trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// Ends with one kEnd token. Throws TemplateFailure(kSyntax) that names the line.
std::vector<Token> tokenize(std::string_view source);

// For messages: "end of statement block", "'foo'", ...
std::string describe(const Token& token);

[[noreturn]] void fail_syntax(uint32_t line, const std::string& message);

// Reads the part of a string literal between its quotes; throws on escapes that Python refuses.
std::string unescape(std::string_view literal, uint32_t line);

}  // namespace deltaserve::jinja
