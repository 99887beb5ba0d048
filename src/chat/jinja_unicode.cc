// Character classes over utf8proc's tables, with the few places where Python's str differs from the
// general category spelled out.
#include "chat/jinja_unicode.h"

#include <utf8proc.h>

#include <algorithm>

#include "chat/jinja_special_case.h"

namespace deltaserve::jinja {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

void append_all(std::string& out, const char32_t (&code_points)[3]) {
  for (const char32_t c : code_points) {
    if (c != 0) {
      utf8::append(out, c);
    }
  }
}

bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2019;
  }
}

size_t previous_start(std::string_view text, size_t offset) {
  do {
    --offset;
  } while (offset > 0 && utf8::is_continuation(text[offset]));
  return offset;
}

}  // namespace

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !utf8::is_continuation(c); }));
}

size_t byte_offset(std::string_view text, size_t index) {
  size_t offset = 0;
  while (index > 0 && offset < text.size()) {
    ++offset;
    while (offset < text.size() && utf8::is_continuation(text[offset])) {
      ++offset;
    }
    --index;
  }
  return offset;
}

bool is_space(char32_t c) {
  if (c < 0x80) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  }
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_border(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_alpha(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool is_decimal(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
  // Numeric_Type=Digit beyond Nd: superscripts, subscripts and circled digits.
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 ||
         (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089) ||
         (c >= 0x2460 && c <= 0x2468) || (c >= 0x2474 && c <= 0x247C) ||
         (c >= 0x2488 && c <= 0x2490);
}

bool is_numeric(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

bool is_lower(char32_t c) {
  // Other_Lowercase: ordinal indicators and the like, which Python counts as lower case.
  return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA ||
         (c >= 0x24D0 && c <= 0x24E9) || (c >= 0x2170 && c <= 0x217F);
}

bool is_upper(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU || (c >= 0x24B6 && c <= 0x24CF) ||
         (c >= 0x2160 && c <= 0x216F);
}

bool is_title(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LT;
}

bool is_printable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return c == ' ';
    default:
      return true;
  }
}

void append_upper(std::string& out, char32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
  } else if (const SpecialCase* special = find_special_case(c)) {
    append_all(out, special->upper);
  } else {
    utf8::append(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_title(std::string& out, char32_t c) {
  if (const SpecialCase* special = find_special_case(c)) {
    append_all(out, special->title);
  } else {
    utf8::append(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_lower(std::string& out, char32_t c, bool final_sigma) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
  } else if (c == 0x130) {
    out += "i\xCC\x87";  // capital I with a dot: i and a combining dot
  } else if (c == 0x3A3 && final_sigma) {
    out += "\xCF\x82";
  } else {
    utf8::append(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_casefold(std::string& out, char32_t c) {
  // Full folding gives at most three code points.
  utf8proc_int32_t folded[4];
  int boundary = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded,
                                                         4, UTF8PROC_CASEFOLD, &boundary);
  if (count < 1 || count > 4) {
    utf8::append(out, c);
    return;
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8::append(out, static_cast<char32_t>(folded[i]));
  }
}

bool is_final_sigma(std::string_view text, size_t offset) {
  size_t before = offset;
  bool cased_before = false;
  while (before > 0) {
    before = previous_start(text, before);
    const char32_t c = utf8::decode_valid(text.data() + before).code_point;
    if (!is_case_ignorable(c)) {
      cased_before = is_cased(c);
      break;
    }
  }
  if (!cased_before) {
    return false;
  }
  size_t after = offset + utf8::decode_valid(text.data() + offset).length;
  while (after < text.size()) {
    const utf8::Decoded c = utf8::decode_valid(text.data() + after);
    if (!is_case_ignorable(c.code_point)) {
      return !is_cased(c.code_point);
    }
    after += c.length;
  }
  return true;
}

ByteRange strip_range(std::string_view text, const std::string_view* chars, bool left, bool right) {
  const auto strips = [chars](std::string_view c) {
    return chars == nullptr ? is_space(utf8::decode_valid(c.data()).code_point)
                            : chars->find(c) != std::string_view::npos;
  };
  ByteRange range{0, text.size()};
  while (left && range.begin < range.end) {
    const uint32_t length = utf8::decode_valid(text.data() + range.begin).length;
    if (!strips(text.substr(range.begin, length))) {
      break;
    }
    range.begin += length;
  }
  while (right && range.begin < range.end) {
    const size_t start = previous_start(text, range.end);
    if (!strips(text.substr(start, range.end - start))) {
      break;
    }
    range.end = start;
  }
  return range;
}

}  // namespace deltaserve::jinja
