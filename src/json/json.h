// JSON values, parsing under limits and writing. Values are Boost.JSON's (objects keep the order in
// which keys were written, which templates rely on); this header adds what a server needs around
// them: limits that hold before memory is spent, errors as values, and Python's exact formatting.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace deltaserve::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

struct ParseLimits {
  size_t max_depth = 200;              // nesting of arrays and objects
  size_t max_bytes = size_t{1} << 30;  // of input text
};

// Parses one JSON document (RFC 8259, UTF-8). Of a repeated key the last value wins, in the place
// of the first, as in Python. Integers beyond 64 bits become doubles. Errors: kInvalidArgument with
// the byte offset; kPayloadTooLarge beyond max_bytes.
Result<Value> parse(std::string_view text, const ParseLimits& limits = {});

// As Python's json.dumps(value, ensure_ascii=False): ", " and ": " separators, key order kept,
// floats as repr(float) prints them. `indent` < 0 writes one line.
std::string dumps(const Value& value, int indent = -1);

// Compact JSON for the wire: no spaces, UTF-8 kept. The caller keeps NaN and infinities out.
std::string serialize(const Value& value);

// Appends `text` as a JSON string literal with quotes and escapes, UTF-8 kept.
void append_quoted(std::string_view text, std::string& out);

// repr(float) of Python: the shortest digits that read back equal, "1.0", "1e+16", "inf", "nan".
std::string python_float(double value);

}  // namespace deltaserve::json
