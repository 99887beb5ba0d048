// Code points as Python's str sees them: white space, line borders, character classes and full case
// mapping. Texts are valid UTF-8 (the JSON parser and the template compiler see to it).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/utf8.h"

namespace deltaserve::jinja {

size_t count_code_points(std::string_view text);

// Byte offset of code point `index` of a text; text.size() if it has fewer.
size_t byte_offset(std::string_view text, size_t index);

// str.isspace, which is also what strip(), split() and the regex \s go by.
bool is_space(char32_t c);
// Where str.splitlines cuts.
bool is_line_border(char32_t c);

bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_title(char32_t c);
bool is_printable(char32_t c);
inline bool is_alphanumeric(char32_t c) {
  return is_alpha(c) || is_numeric(c);
}
inline bool is_word(char32_t c) {
  return c == '_' || is_alphanumeric(c);
}
inline bool is_cased(char32_t c) {
  return is_lower(c) || is_upper(c) || is_title(c);
}

// Full mappings: one code point may become several.
void append_upper(std::string& out, char32_t c);
void append_title(std::string& out, char32_t c);
// `final_sigma`: whether a capital sigma here ends a word.
void append_lower(std::string& out, char32_t c, bool final_sigma);

void append_casefold(std::string& out, char32_t c);

// Whether the capital sigma at byte `offset` of `text` ends a word.
bool is_final_sigma(std::string_view text, size_t offset);

// The byte range of `text` that strip() would keep; `chars` empty pointer means white space.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
};
ByteRange strip_range(std::string_view text, const std::string_view* chars, bool left, bool right);

}  // namespace deltaserve::jinja
