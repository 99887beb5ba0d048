// ECMA-262's classes: \d and \w are ASCII, \s and line ends are Unicode's.
#include "grammar/regex_classes.h"

#include <utf8proc.h>

#include <string>
#include <vector>

namespace deltaserve {

CharSet regex_dot() {
  return ~CharSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
}

std::optional<CharSet> regex_class(char name) {
  switch (name) {
    case 'd':
      return CharSet({{'0', '9'}});
    case 'w':
      return CharSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
    case 's':
      return CharSet({{'\t', '\r'},
                      {' ', ' '},
                      {0xA0, 0xA0},
                      {0x1680, 0x1680},
                      {0x2000, 0x200A},
                      {0x2028, 0x2029},
                      {0x202F, 0x202F},
                      {0x205F, 0x205F},
                      {0x3000, 0x3000},
                      {0xFEFF, 0xFEFF}});
    case 'D':
      return ~*regex_class('d');
    case 'W':
      return ~*regex_class('w');
    case 'S':
      return ~*regex_class('s');
    default:
      return std::nullopt;
  }
}

CharSet either_case_of(char32_t c) {
  const auto code = static_cast<utf8proc_int32_t>(c);
  const auto lower = static_cast<char32_t>(utf8proc_tolower(code));
  const auto upper = static_cast<char32_t>(utf8proc_toupper(code));
  return CharSet({{c, c}, {lower, lower}, {upper, upper}});
}

std::optional<CharSet> unicode_category(std::string_view name) {
  if (name.empty() || name.size() > 2) {
    return std::nullopt;
  }
  std::vector<CharRange> ranges;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    const std::string_view category = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
    if (category.starts_with(name)) ranges.push_back({c, c});
  }
  if (ranges.empty()) {
    return std::nullopt;
  }
  return CharSet(std::move(ranges));
}

}  // namespace deltaserve
