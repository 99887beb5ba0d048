// The named character classes of regular expressions.
#pragma once

#include <optional>
#include <string_view>

#include "grammar/char_set.h"

namespace deltaserve {

CharSet regex_dot();                            // all but line ends
std::optional<CharSet> regex_class(char name);  // d, D, w, W, s, S
CharSet either_case_of(char32_t c);             // with its simple lower and upper case
// A Unicode general category, as in \p{Lu} or \p{L}.
std::optional<CharSet> unicode_category(std::string_view name);

}  // namespace deltaserve
