// The second half of str's methods: case, classes and padding.
#pragma once

#include <string_view>

#include "chat/jinja_methods.h"

namespace deltaserve::jinja {

const MethodEntry* find_string_form_method(std::string_view name);

}  // namespace deltaserve::jinja
