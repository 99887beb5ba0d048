// The methods of Python's str, list, tuple, dict and range that templates may call.
#pragma once

#include <string_view>

#include "chat/jinja_objects.h"
#include "chat/jinja_runtime.h"

namespace deltaserve::jinja {

using MethodFunction = Value (*)(Runtime&, const Value& self, const Arguments&);

struct MethodEntry {
  std::string_view name;
  MethodFunction function;
};

// nullptr if values of this kind have no such method. Methods that would change a list or dict are
// not here: is_mutating() names them, and the sandbox refuses them.
const MethodEntry* find_method(Kind kind, std::string_view name);
bool is_mutating(Kind kind, std::string_view name);

const MethodEntry* find_string_method(std::string_view name);
const MethodEntry* find_container_method(Kind kind, std::string_view name);

// str.split and str.rsplit; null `separator` splits at white space, negative `limit` is no limit.
std::vector<Value> split_text(Runtime& runtime, const Text& text, const Value* separator,
                              int64_t limit);
std::vector<Value> split_text_from_right(Runtime& runtime, const Text& text, const Value* separator,
                                         int64_t limit);
// str.splitlines.
std::vector<Text> split_lines(const Text& text, bool keep_borders);
// str.replace; negative `limit` is no limit.
Text replace_text(Runtime& runtime, const Text& text, const Text& from, const Text& to,
                  int64_t limit);
Text strip_text(const Text& text, const Value* chars, bool left, bool right);
Text map_case(const Text& text, bool upper);
Text capitalize_text(const Text& text);

}  // namespace deltaserve::jinja
