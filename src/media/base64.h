// Base64 (RFC 4648) as it comes in data URLs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace deltaserve {

// Line breaks and spaces are skipped, the "=" at the end may be missing; none for any other
// character, an "=" in the middle, or a last character that stands alone.
std::optional<std::vector<uint8_t>> decode_base64(std::string_view text);

}  // namespace deltaserve
