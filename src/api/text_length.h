// Length of UTF-8 text in characters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace deltaserve {

// Code points of valid UTF-8.
inline size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace deltaserve
