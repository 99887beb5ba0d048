// Characters, classes and escapes of regular expressions.
#include "grammar/regex_text.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "grammar/regex_classes.h"

namespace deltaserve {

bool RegexText::take(std::string_view text) {
  if (done() || !rest().starts_with(text)) {
    return false;
  }
  at_ += text.size();
  return true;
}

void RegexText::refuse(std::string_view what) {
  if (!error_) {
    error_ =
        Error{ErrorCode::kInvalidArgument,
              fmt::format("The pattern '{}' cannot be used: {} at offset {}.", pattern_, what, at_),
              "", ""};
  }
  at_ = pattern_.size();
}

CharSet RegexText::bracket() {
  ++at_;
  const bool negated = take("^");
  CharSet set;
  bool first = true;
  while (!done() && (peek() != ']' || (first && bracket_literal()))) {
    first = false;
    bool is_class = false;
    CharSet low = bracket_item(is_class);
    if (!is_class && peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
      ++at_;
      const CharSet high = bracket_item(is_class);
      if (error_) return {};
      if (is_class || high.ranges().front().low < low.ranges().front().low) {
        refuse("a character range that runs backwards");
        return {};
      }
      low = CharSet({{low.ranges().front().low, high.ranges().front().low}});
    }
    set = set | low;
  }
  if (!take("]") && !error_) refuse("a character class without ']'");
  return negated ? ~set : set;
}

// In Python a ']' right after '[' means itself; in ECMA-262 "[]" is the empty class. As a class
// without characters matches nothing, Python's reading is taken where it can be.
bool RegexText::bracket_literal() const {
  return pattern_.find(']', at_ + 1) != std::string_view::npos;
}

CharSet RegexText::bracket_item(bool& is_class) {
  is_class = false;
  if (peek() != '\\') return CharSet::of(next_char());
  const size_t before = at_;
  CharSet set = escape(true);
  const char name = before + 1 < pattern_.size() ? pattern_[before + 1] : '\0';
  is_class = std::string_view("dDwWsSpP").find(name) != std::string_view::npos;
  return set;
}

CharSet RegexText::escape(bool in_class) {
  ++at_;
  if (done()) {
    refuse("a '\\' at the end");
    return {};
  }
  const char c = pattern_[at_++];
  if (const auto named = regex_class(c)) return *named;
  switch (c) {
    case 't':
      return CharSet::of('\t');
    case 'n':
      return CharSet::of('\n');
    case 'r':
      return CharSet::of('\r');
    case 'f':
      return CharSet::of('\f');
    case 'v':
      return CharSet::of('\v');
    case 'a':
      return CharSet::of('\a');
    case '0':
      if (peek() >= '0' && peek() <= '9') refuse("an octal escape");
      return CharSet::of(U'\0');
    case 'x':
      return CharSet::of(hexadecimal(2));
    case 'u':
      return CharSet::of(unicode_escape());
    case 'U':
      return CharSet::of(hexadecimal(8));
    case 'p':
    case 'P':
      return category(c == 'P');
    case 'b':
      if (in_class) return CharSet::of('\b');
      break;
    default:
      break;
  }
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
    refuse(fmt::format("the escape '\\{}' is not supported;", c));
    return {};
  }
  --at_;
  return CharSet::of(next_char());
}

char32_t RegexText::hexadecimal(size_t digits) {
  uint32_t value = 0;
  const std::string_view text = pattern_.substr(at_, digits);
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (failed != std::errc() || end != text.data() + digits || value > 0x10FFFF) {
    refuse("a wrong hexadecimal escape");
    return 0;
  }
  at_ += digits;
  return value;
}

char32_t RegexText::unicode_escape() {
  if (take("{")) {
    const size_t close = pattern_.find('}', at_);
    if (close == std::string_view::npos || close == at_ || close - at_ > 6) {
      refuse("a wrong '\\u{' escape");
      return 0;
    }
    const char32_t value = hexadecimal(close - at_);
    take("}");
    return value;
  }
  const char32_t high = hexadecimal(4);
  if (high < 0xD800 || high > 0xDBFF || !take("\\u")) return high;
  const char32_t low = hexadecimal(4);
  if (low < 0xDC00 || low > 0xDFFF) {
    refuse("half a surrogate pair");
    return 0;
  }
  return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

CharSet RegexText::category(bool negated) {
  std::string_view name = pattern_.substr(at_, 1);
  ++at_;
  if (name == "{") {
    const size_t close = pattern_.find('}', at_);
    name = close == std::string_view::npos ? "" : pattern_.substr(at_, close - at_);
    at_ += name.size() + 1;
  }
  auto known = categories_.find(name);
  if (known == categories_.end()) {
    auto set = unicode_category(name);
    if (!set) {
      refuse("a character property other than a general category");
      return {};
    }
    known = categories_.emplace(name, *std::move(set)).first;
  }
  return negated ? ~known->second : known->second;
}

// The pattern is valid UTF-8.
char32_t RegexText::next_char() {
  const auto lead = static_cast<uint8_t>(pattern_[at_++]);
  if (lead < 0x80) return lead;
  const int tail = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  char32_t value = lead & (0x3FU >> tail);
  for (int i = 0; i < tail && at_ < pattern_.size(); ++i) {
    value = value << 6 | (static_cast<uint8_t>(pattern_[at_++]) & 0x3FU);
  }
  return value;
}

}  // namespace deltaserve
