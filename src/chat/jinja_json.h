// Request values in, JSON text out (Python's json.dumps with Hugging Face's defaults).
#pragma once

#include <optional>
#include <string>

#include "chat/jinja_objects.h"
#include "chat/jinja_runtime.h"
#include "json/json.h"

namespace deltaserve::jinja {

// A value of the request: everything in it counts as not from the template.
Value from_json(Runtime& runtime, const json::Value& value);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // of one level; set: one item a line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// TypeError for undefined values and for what JSON cannot express.
Text to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace deltaserve::jinja
