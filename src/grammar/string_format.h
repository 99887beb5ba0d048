// JSON Schema's `format`: the grammar behind each name.
#pragma once

#include <optional>
#include <string_view>

namespace deltaserve {

// A pattern that all of the text has to match; none for an unknown format.
std::optional<std::string_view> format_pattern(std::string_view format);

}  // namespace deltaserve
