// Capital and title forms that take more than one code point, such as "ß" -> "SS".
#pragma once

namespace deltaserve::jinja {

struct SpecialCase {
  char32_t code_point;
  char32_t upper[3];  // padded with 0
  char32_t title[3];
};

// nullptr: the one-to-one mapping holds.
const SpecialCase* find_special_case(char32_t c);

}  // namespace deltaserve::jinja
