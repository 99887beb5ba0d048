// Writing: one writer for the wire's compact form and for Python's json.dumps layout, which chat
// templates print into prompts and which therefore has to match character by character.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "json/json.h"

namespace deltaserve::json {
namespace {

struct Style {
  std::string_view item_separator;
  std::string_view key_separator;
  int indent;  // < 0: one line
};

void write_string(std::string_view text, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') {
      continue;
    }
    out.append(text, copied, i - copied);
    copied = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out.push_back(kHex[c >> 4]);
        out.push_back(kHex[c & 15]);
    }
  }
  out.append(text, copied);
  out.push_back('"');
}

void write_double(double number, std::string& out) {
  if (std::isnan(number)) {
    out += "NaN";
  } else if (std::isinf(number)) {
    out += number > 0 ? "Infinity" : "-Infinity";
  } else {
    out += python_float(number);
  }
}

void new_line(const Style& style, int depth, std::string& out) {
  if (style.indent >= 0) {
    out.push_back('\n');
    out.append(static_cast<size_t>(style.indent) * static_cast<size_t>(depth), ' ');
  }
}

void write(const Value& value, const Style& style, int depth, std::string& out);

void write_array(const Array& array, const Style& style, int depth, std::string& out) {
  if (array.empty()) {
    out += "[]";
    return;
  }
  out.push_back('[');
  bool first = true;
  for (const Value& item : array) {
    if (!first) {
      out += style.item_separator;
    }
    first = false;
    new_line(style, depth + 1, out);
    write(item, style, depth + 1, out);
  }
  new_line(style, depth, out);
  out.push_back(']');
}

void write_object(const Object& object, const Style& style, int depth, std::string& out) {
  if (object.empty()) {
    out += "{}";
    return;
  }
  out.push_back('{');
  bool first = true;
  for (const auto& [key, item] : object) {
    if (!first) {
      out += style.item_separator;
    }
    first = false;
    new_line(style, depth + 1, out);
    write_string(key, out);
    out += style.key_separator;
    write(item, style, depth + 1, out);
  }
  new_line(style, depth, out);
  out.push_back('}');
}

void write(const Value& value, const Style& style, int depth, std::string& out) {
  switch (value.kind()) {
    case boost::json::kind::null:
      out += "null";
      break;
    case boost::json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      break;
    case boost::json::kind::int64:
      out += fmt::format_int(value.get_int64()).c_str();
      break;
    case boost::json::kind::uint64:
      out += fmt::format_int(value.get_uint64()).c_str();
      break;
    case boost::json::kind::double_:
      write_double(value.get_double(), out);
      break;
    case boost::json::kind::string:
      write_string(value.get_string(), out);
      break;
    case boost::json::kind::array:
      write_array(value.get_array(), style, depth, out);
      break;
    case boost::json::kind::object:
      write_object(value.get_object(), style, depth, out);
      break;
  }
}

}  // namespace

std::string dumps(const Value& value, int indent) {
  std::string out;
  write(value, Style{indent < 0 ? ", " : ",", ": ", indent}, 0, out);
  return out;
}

std::string serialize(const Value& value) {
  std::string out;
  write(value, Style{",", ":", -1}, 0, out);
  return out;
}

void append_quoted(std::string_view text, std::string& out) {
  write_string(text, out);
}

std::string python_float(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  // "d.ddde[+-]xx": the shortest digits that read back equal; 17 digits, sign, point and exponent.
  char buffer[32];
  const auto result =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  DS_CHECK(result.ec == std::errc(), "a double fits 32 characters in scientific notation");
  const std::string_view text(buffer, static_cast<size_t>(result.ptr - buffer));
  const size_t mark = text.find('e');
  int exponent = 0;
  const size_t exponent_begin = mark + (text[mark + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + exponent_begin, text.data() + text.size(), exponent);
  // repr() writes positionally for exponents in [-4, 16), as C's %r-style formatting does.
  if (exponent < -4 || exponent >= 16) {
    return std::string(text);
  }
  std::string digits;
  for (const char c : text.substr(0, mark)) {
    if (c >= '0' && c <= '9') {
      digits.push_back(c);
    }
  }
  std::string out = text.front() == '-' ? "-" : "";
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    return out + digits + std::string(whole - digits.size(), '0') + ".0";
  }
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace deltaserve::json
