// Template source to its tree.
#pragma once

#include <string_view>

#include "chat/jinja_ast.h"

namespace deltaserve::jinja {

// Throws TemplateFailure(kSyntax) with the line: syntax errors, constructs that are not supported
// (extends, include, import, block, autoescape, recursive loops), unknown filters and tests outside
// of conditions, trees beyond kMaxSyntaxDepth.
Template parse_template(std::string_view source);

}  // namespace deltaserve::jinja
