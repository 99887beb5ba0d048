// Escapes of string literals, as Python's "unicode-escape" codec reads them.
#include <fmt/format.h>

#include <charconv>

#include "chat/jinja_lexer.h"
#include "text/utf8.h"

namespace deltaserve::jinja {
namespace {

void append_code_point(std::string& out, uint32_t value, uint32_t line) {
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    fail_syntax(line, fmt::format("escape U+{:04X} is not a character", value));
  }
  utf8::append(out, static_cast<char32_t>(value));
}

// Reads exactly `count` hexadecimal digits after an escape such as \x.
uint32_t read_hex(std::string_view digits, size_t count, uint32_t line) {
  uint32_t value = 0;
  digits = digits.substr(0, count);
  const auto [end, status] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() < count || status != std::errc() || end != digits.data() + digits.size()) {
    fail_syntax(line, fmt::format("truncated escape: {} hexadecimal digits expected", count));
  }
  return value;
}

size_t octal_length(std::string_view text) {
  size_t length = 0;
  while (length < 3 && length < text.size() && text[length] >= '0' && text[length] <= '7') {
    ++length;
  }
  return length;
}

}  // namespace

std::string unescape(std::string_view literal, uint32_t line) {
  std::string out;
  for (size_t i = 0; i < literal.size();) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      out.push_back(literal[i++]);
      continue;
    }
    const char c = literal[i + 1];
    const std::string_view rest = literal.substr(i + 2);
    i += 2;
    switch (c) {
      case '\n':
        break;
      case '\\':
      case '\'':
      case '"':
        out.push_back(c);
        break;
      case 'n':
        out.push_back('\n');
        break;
      case 't':
        out.push_back('\t');
        break;
      case 'r':
        out.push_back('\r');
        break;
      case 'a':
        out.push_back('\a');
        break;
      case 'b':
        out.push_back('\b');
        break;
      case 'f':
        out.push_back('\f');
        break;
      case 'v':
        out.push_back('\v');
        break;
      case 'x':
      case 'u':
      case 'U': {
        const size_t digits = c == 'x' ? 2 : (c == 'u' ? 4 : 8);
        append_code_point(out, read_hex(rest, digits, line), line);
        i += digits;
        break;
      }
      case 'N':
        fail_syntax(line, "named escapes (\\N{...}) are not supported");
      default:
        if (const size_t digits = octal_length(literal.substr(i - 1)); digits > 0) {
          uint32_t value = 0;
          std::from_chars(literal.data() + i - 1, literal.data() + i - 1 + digits, value, 8);
          append_code_point(out, value, line);
          i += digits - 1;
        } else {
          out.push_back('\\');
          out.push_back(c);
        }
    }
  }
  return out;
}

}  // namespace deltaserve::jinja
