// Numbers in text: literals of the template source, and what int() and float() of Python accept.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "chat/jinja_value.h"

namespace deltaserve::jinja {

struct NumberToken {
  size_t length = 0;  // 0: no number begins here
  bool is_float = false;
  double floating = 0;
  std::optional<Int> integer;  // nullopt: beyond 128 bits
};

// The number literal at the beginning of `text`. `after_dot`: a "." stands before it, so "1.5" is
// the integer 1 (`a.1.5` is two subscripts).
NumberToken scan_number(std::string_view text, bool after_dot);

// int(text, base) of Python, base 0 or 2 to 36; nullopt where it raises ValueError or the number
// needs more than 128 bits.
std::optional<Int> parse_int(std::string_view text, int base);

// float(text) of Python; nullopt where it raises ValueError.
std::optional<double> parse_float(std::string_view text);

// round(value, digits) of Python: half to even on the exact decimal expansion.
double round_float(double value, int digits);

}  // namespace deltaserve::jinja
