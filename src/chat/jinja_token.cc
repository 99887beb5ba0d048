#include "chat/jinja_token.h"

#include <fmt/format.h>

#include "chat/jinja_error.h"

namespace deltaserve::jinja {

void fail_syntax(uint32_t line, const std::string& message) {
  throw TemplateFailure(FailureKind::kSyntax, fmt::format("line {}: {}", line, message));
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "template text";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kVariableBegin:
      return "begin of print statement";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kEnd:
      return "end of template";
    default:
      return fmt::format("'{}'", token.text);
  }
}

}  // namespace deltaserve::jinja
