// What other parts need to know of macros, which the interpreter runs.
#pragma once

#include <string_view>

#include "chat/jinja_objects.h"

namespace deltaserve::jinja {

std::string_view macro_name(const MacroObject& macro);

}  // namespace deltaserve::jinja
