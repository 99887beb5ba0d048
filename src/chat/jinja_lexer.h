// Template source to tokens, with jinja2's white space control under trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja_token.h"

namespace deltaserve::jinja {

// Ends with one kEnd token. Throws TemplateFailure(kSyntax) that names the line.
std::vector<Token> tokenize(std::string_view source);

// Reads the part of a string literal between its quotes; throws on escapes that Python refuses.
std::string unescape(std::string_view literal, uint32_t line);

}  // namespace deltaserve::jinja
