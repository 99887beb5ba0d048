// Python's two ways to format: "..." % arguments and "...".format(...).
#pragma once

#include <optional>

#include "chat/jinja_objects.h"
#include "chat/jinja_runtime.h"

namespace deltaserve::jinja {

// `arguments`: a tuple, a mapping for %(name)s, or one value.
Value format_percent(Runtime& runtime, const Text& format, const Value& arguments);

Value format_braces(Runtime& runtime, const Text& format, const Arguments& arguments);

// What stands after the colon of a replacement field, or between % and its letter.
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // '<' '>' '^' '=', '\0': the type's own
  char sign = '-';    // '-' '+' ' '
  bool alternate = false;
  int64_t width = 0;
  char grouping = '\0';  // ',' or '_'
  std::optional<int> precision;
  char type = '\0';
};

// A number's text without padding: digits, sign, prefix. Types d b o x X c and, for floats, e E f F
// g G % or '\0' (repr). TypeError for a type that does not fit.
std::string format_integer(Int value, const FormatSpec& spec);
std::string format_float(double value, const FormatSpec& spec);

// Pads `content` to the spec's width. `numeric`: aligned right by default, '=' fills after the
// sign.
Text pad_to_width(Runtime& runtime, const Text& content, const FormatSpec& spec, bool numeric,
                  bool fill_from_template);

}  // namespace deltaserve::jinja
