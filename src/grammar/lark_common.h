// The terminals of Lark's library `common`, which grammars import by name.
#pragma once

#include <optional>
#include <string_view>

namespace deltaserve {

// A regular expression for the terminal; none if the library has no such one.
std::optional<std::string_view> lark_common_pattern(std::string_view name);

}  // namespace deltaserve
