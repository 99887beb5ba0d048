// Reads numbers with Python's underscores, prefixes and white space.
#include "chat/jinja_number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

int digit_value(char c) {
  if (is_ascii_digit(c)) {
    return c - '0';
  }
  if (c >= 'a' && c <= 'z') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

// Length of digits of `base` from `begin`, single underscores between them; 0 if none.
size_t digits_length(std::string_view text, size_t begin, int base) {
  size_t i = begin;
  while (i < text.size()) {
    if (digit_value(text[i]) < base) {
      ++i;
    } else if (text[i] == '_' && i > begin && i + 1 < text.size() &&
               digit_value(text[i + 1]) < base) {
      ++i;
    } else {
      break;
    }
  }
  return i - begin;
}

std::optional<Int> digits_value(std::string_view digits, int base) {
  Int value = 0;
  for (const char c : digits) {
    if (c == '_') {
      continue;
    }
    if (__builtin_mul_overflow(value, Int{base}, &value) ||
        __builtin_add_overflow(value, Int{digit_value(c)}, &value)) {
      return std::nullopt;
    }
  }
  return value;
}

int base_of_prefix(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') {
    return 0;
  }
  switch (text[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 0;
  }
}

// Length of a float at the beginning of `text` ("1.5", "2e3", "1_0.5e-3"); 0 if it is none. Where
// Python's float() is meant, a point may also end or begin the number.
size_t float_length(std::string_view text, bool lenient) {
  const size_t whole = digits_length(text, 0, 10);
  size_t end = whole;
  bool is_float = false;
  size_t fraction = 0;
  if (end < text.size() && text[end] == '.') {
    fraction = digits_length(text, end + 1, 10);
    if (fraction > 0 || (lenient && whole > 0)) {
      end += 1 + fraction;
      is_float = true;
    }
  }
  if (whole == 0 && (!lenient || fraction == 0)) {
    return 0;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) {
      ++exponent;
    }
    if (const size_t digits = digits_length(text, exponent, 10); digits > 0) {
      end = exponent + digits;
      is_float = true;
    }
  }
  return is_float || lenient ? end : 0;
}

double float_value(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != '_') {
      plain.push_back(c);
    }
  }
  // strtod follows Python on overflow (infinity) and underflow; the text has no locale's point.
  double value = 0;
  const auto [end, status] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (status == std::errc::result_out_of_range) {
    const size_t mark = plain.find_first_of("eE");
    const bool small =
        mark != std::string::npos && mark + 1 < plain.size() && plain[mark + 1] == '-';
    return small ? 0.0 : HUGE_VAL;
  }
  return value;
}

}  // namespace

NumberToken scan_number(std::string_view text, bool after_dot) {
  NumberToken token;
  if (text.empty() || !is_ascii_digit(text[0])) {
    return token;
  }
  if (const size_t length = after_dot ? 0 : float_length(text, false); length > 0) {
    token.length = length;
    token.is_float = true;
    token.floating = float_value(text.substr(0, length));
    return token;
  }
  if (const int base = base_of_prefix(text); base != 0) {
    const size_t begin = text.size() > 2 && text[2] == '_' ? 3 : 2;
    if (const size_t digits = digits_length(text, begin, base); digits > 0) {
      token.length = begin + digits;
      token.integer = digits_value(text.substr(begin, digits), base);
      return token;
    }
  }
  if (text[0] == '0') {
    token.length = 1;
    while (token.length < text.size() &&
           (text[token.length] == '0' ||
            (text[token.length] == '_' && text.substr(token.length + 1).starts_with('0')))) {
      ++token.length;
    }
    token.integer = 0;
    return token;
  }
  token.length = digits_length(text, 0, 10);
  token.integer = digits_value(text.substr(0, token.length), 10);
  return token;
}

std::optional<Int> parse_int(std::string_view text, int base) {
  const ByteRange range = strip_range(text, nullptr, true, true);
  text = text.substr(range.begin, range.end - range.begin);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const int prefix = base_of_prefix(text);
  if (prefix != 0 && (base == 0 || base == prefix)) {
    base = prefix;
    text.remove_prefix(text.size() > 2 && text[2] == '_' ? 3 : 2);
  } else if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' &&
        text.find_first_not_of("0_") != std::string_view::npos) {
      return std::nullopt;
    }
  }
  if (text.empty() || digits_length(text, 0, base) != text.size()) {
    return std::nullopt;
  }
  const std::optional<Int> value = digits_value(text, base);
  return value && negative ? std::optional(-*value) : value;
}

std::optional<double> parse_float(std::string_view text) {
  const ByteRange range = strip_range(text, nullptr, true, true);
  text = text.substr(range.begin, range.end - range.begin);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  std::string lower;
  for (const char c : text.substr(0, 9)) {
    lower.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
  }
  double value = 0;
  if (lower == "inf" || lower == "infinity") {
    value = HUGE_VAL;
  } else if (lower == "nan") {
    value = std::nan("");
  } else if (!text.empty() && float_length(text, true) == text.size()) {
    value = float_value(text);
  } else {
    return std::nullopt;
  }
  return negative ? -value : value;
}

double round_float(double value, int digits) {
  // A double has at most 1074 digits after the point and 309 before it.
  if (!std::isfinite(value) || digits > 1100) {
    return value;
  }
  if (digits < -310) {
    return std::copysign(0.0, value);
  }
  if (digits >= 0) {
    const std::string text = fmt::format("{:.{}f}", value, digits);
    double rounded = 0;
    std::from_chars(text.data(), text.data() + text.size(), rounded);
    return rounded;
  }
  const double unit = std::pow(10.0, -digits);
  return std::nearbyint(value / unit) * unit;
}

}  // namespace deltaserve::jinja
