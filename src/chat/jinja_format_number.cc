// Numbers as Python's format() and % print them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "chat/jinja_format.h"
#include "chat/jinja_print.h"
#include "chat/jinja_unicode.h"
#include "json/json.h"

namespace deltaserve::jinja {
namespace {

// More digits than a double has, or a prompt needs.
constexpr int kMaxPrecision = 1200;

std::string sign_text(bool negative, const FormatSpec& spec) {
  if (negative) {
    return "-";
  }
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string digits_in_base(unsigned __int128 value, unsigned base, bool upper) {
  const char* symbols = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.push_back(symbols[static_cast<size_t>(value % base)]);
    value /= base;
  } while (value != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string group(const std::string& digits, char separator, size_t size) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0) {
      out.push_back(separator);
    }
    out.push_back(digits[i]);
  }
  return out;
}

// Groups the digits before the point of a float's text.
std::string group_float(const std::string& text, char separator) {
  const size_t end = text.find_first_not_of("0123456789");
  const size_t whole = end == std::string::npos ? text.size() : end;
  return group(text.substr(0, whole), separator, 3) + text.substr(whole);
}

std::string print_double(double value, char conversion, int precision, bool alternate) {
  const std::string format = fmt::format("%{}.{}{}", alternate ? "#" : "", precision, conversion);
  const int size = std::snprintf(nullptr, 0, format.c_str(), value);
  std::string out(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(out.data(), out.size(), format.c_str(), value);
  out.pop_back();
  return out;
}

// A float without a type letter but with a precision: like 'g', with at least one digit after the
// point.
std::string print_general(double value, int precision) {
  std::string text = print_double(value, 'g', std::max(precision, 1), false);
  if (text.find_first_of(".en") == std::string::npos) {
    const auto whole = static_cast<int>(text.size());
    text = whole < std::max(precision, 1)
               ? text + ".0"
               : print_double(value, 'e', std::max(precision, 1) - 1, false);
  }
  return text;
}

}  // namespace

std::string format_integer(Int value, const FormatSpec& spec) {
  const bool negative = value < 0;
  const auto magnitude =
      negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  unsigned base = 10;
  std::string_view prefix;
  switch (spec.type) {
    case 'b':
      base = 2;
      prefix = "0b";
      break;
    case 'o':
      base = 8;
      prefix = "0o";
      break;
    case 'x':
      base = 16;
      prefix = "0x";
      break;
    case 'X':
      base = 16;
      prefix = "0X";
      break;
    case '\0':
    case 'd':
    case 'i':
    case 'u':
    case 'n':
      break;
    default:
      fail_type(fmt::format("Unknown format code '{}' for object of type 'int'", spec.type));
  }
  std::string digits = digits_in_base(magnitude, base, spec.type == 'X');
  if (spec.grouping != '\0') {
    digits = group(digits, spec.grouping, base == 10 ? 3 : 4);
  }
  return fmt::format("{}{}{}", sign_text(negative, spec), spec.alternate ? prefix : "", digits);
}

std::string format_float(double value, const FormatSpec& spec) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  const double magnitude = std::fabs(value);
  const int precision = spec.precision.value_or(6);
  if (precision > kMaxPrecision) {
    fail_type("precision too big");
  }
  std::string text;
  switch (spec.type) {
    case '\0':
      text = spec.precision ? print_general(magnitude, *spec.precision)
                            : json::python_float(magnitude);
      break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      text = print_double(magnitude, spec.type, precision, spec.alternate);
      break;
    case '%':
      text = print_double(magnitude * 100, 'f', precision, spec.alternate) + "%";
      break;
    default:
      fail_type(fmt::format("Unknown format code '{}' for object of type 'float'", spec.type));
  }
  if (spec.grouping != '\0') {
    text = group_float(text, spec.grouping);
  }
  return sign_text(negative, spec) + text;
}

Text pad_to_width(Runtime& runtime, const Text& content, const FormatSpec& spec, bool numeric,
                  bool fill_from_template) {
  const auto length = static_cast<int64_t>(count_code_points(content.bytes()));
  if (spec.width <= length) {
    return content;
  }
  const auto missing = static_cast<size_t>(spec.width - length);
  runtime.charge_bytes(missing);
  const char align = spec.align != '\0' ? spec.align : (numeric ? '>' : '<');
  size_t left = align == '<' ? 0 : missing;
  size_t head = 0;  // bytes before the fill
  if (align == '^') {
    left = missing / 2;
  } else if (align == '=') {
    const std::string& bytes = content.bytes();
    head = !bytes.empty() && (bytes[0] == '-' || bytes[0] == '+' || bytes[0] == ' ') ? 1 : 0;
    const bool prefixed = bytes.size() > head + 1 && bytes[head] == '0' && spec.alternate &&
                          std::isalpha(static_cast<unsigned char>(bytes[head + 1])) != 0;
    head += prefixed ? 2 : 0;
  }
  std::string fill;
  for (size_t i = 0; i < left; ++i) {
    fill += spec.fill;
  }
  Text out;
  out.append(content, 0, head);
  out.append(fill, fill_from_template);
  out.append(content, head, content.size());
  for (size_t i = left; i < missing; ++i) {
    out.append(spec.fill, fill_from_template);
  }
  return out;
}

}  // namespace deltaserve::jinja
