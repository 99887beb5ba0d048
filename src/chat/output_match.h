// Comparing the beginning of a text that is still arriving with what it may become.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace deltaserve {

enum class Match : uint8_t { kNo, kPartial, kYes };

// Whether `text` begins with `literal`, cannot, or is too short to say.
inline Match match_prefix(std::string_view text, std::string_view literal) {
  const size_t n = std::min(text.size(), literal.size());
  if (text.substr(0, n) != literal.substr(0, n)) return Match::kNo;
  return n == literal.size() ? Match::kYes : Match::kPartial;
}

inline bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

inline size_t count_spaces(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_space);
  return static_cast<size_t>(end - text.begin());
}

}  // namespace deltaserve
