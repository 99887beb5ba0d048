// str() and repr() of Python.
#pragma once

#include <string>
#include <string_view>

#include "chat/jinja_objects.h"
#include "chat/jinja_runtime.h"

namespace deltaserve::jinja {

// Appends str(value); undefined prints as nothing.
void append_str(Runtime& runtime, const Value& value, Text& out);
Text str(Runtime& runtime, const Value& value);

void append_repr(Runtime& runtime, const Value& value, Text& out);
std::string repr(Runtime& runtime, const Value& value);

// repr() of a string: quoted, with escapes for what is not printable.
std::string quote(std::string_view text);

std::string int_to_string(Int value);

}  // namespace deltaserve::jinja
