// data: URLs (RFC 2397) that carry base64.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace deltaserve {

// Without the blanks at both ends, which URLs may have and do not contain.
std::string_view trim_blanks(std::string_view text);

bool is_data_url(std::string_view url);

// The bytes; the declared media type and its parameters are not looked at, files say themselves
// what they are. `noun`: what errors call it. Errors: kInvalidArgument for a URL that is not base64
// or holds nothing.
Result<std::vector<uint8_t>> decode_data_url(std::string_view url, std::string_view noun = "image");

}  // namespace deltaserve
