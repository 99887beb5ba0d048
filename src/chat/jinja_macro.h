// What other parts need to know of macros, which the interpreter runs.
#pragma once

#include <optional>
#include <string_view>

#include "chat/jinja_objects.h"
#include "chat/jinja_runtime.h"

namespace deltaserve::jinja {

std::string_view macro_name(const MacroObject& macro);

// `macro.name` (None of a call block), `.arguments`, `.caller`, ...; nullopt for other names.
std::optional<Value> macro_attribute(Runtime& runtime, const MacroObject& macro,
                                     std::string_view name);

}  // namespace deltaserve::jinja
