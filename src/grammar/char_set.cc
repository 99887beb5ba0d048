// Character ranges to byte ranges: a range is cut where the length of the encoding changes and
// where its continuation bytes do not run over their whole range.
#include "grammar/char_set.h"

#include <algorithm>
#include <array>

namespace deltaserve {
namespace {

constexpr char32_t kLast = 0x10FFFF;
constexpr CharRange kSurrogates = {0xD800, 0xDFFF};

size_t encode(char32_t c, std::array<uint8_t, 4>& out) {
  const auto continuation = [c](int shift) {
    return static_cast<uint8_t>(0x80U | (c >> shift & 0x3FU));
  };
  if (c < 0x80) {
    out[0] = static_cast<uint8_t>(c);
    return 1;
  }
  if (c < 0x800) {
    out = {static_cast<uint8_t>(0xC0U | c >> 6), continuation(0), 0, 0};
    return 2;
  }
  if (c < 0x10000) {
    out = {static_cast<uint8_t>(0xE0U | c >> 12), continuation(6), continuation(0), 0};
    return 3;
  }
  out = {static_cast<uint8_t>(0xF0U | c >> 18), continuation(12), continuation(6), continuation(0)};
  return 4;
}

// Both ends have encodings of the same length.
void append_range(ExprPool& pool, CharRange range, size_t size, std::vector<ExprId>& choices) {
  for (size_t tail = 1; tail < size; ++tail) {
    const char32_t mask = (char32_t{1} << (6 * tail)) - 1;  // of the last `tail` bytes
    if ((range.low & ~mask) == (range.high & ~mask)) {
      continue;
    }
    if ((range.low & mask) != 0) {
      append_range(pool, {range.low, range.low | mask}, size, choices);
      append_range(pool, {(range.low | mask) + 1, range.high}, size, choices);
      return;
    }
    if ((range.high & mask) != mask) {
      append_range(pool, {range.low, (range.high & ~mask) - 1}, size, choices);
      append_range(pool, {range.high & ~mask, range.high}, size, choices);
      return;
    }
  }
  std::array<uint8_t, 4> low = {};
  std::array<uint8_t, 4> high = {};
  encode(range.low, low);
  encode(range.high, high);
  ExprId expr = ExprPool::kEmpty;
  for (size_t i = size; i-- > 0;) {
    expr = pool.concat(pool.bytes(ByteSet::range(low[i], high[i])), expr);
  }
  choices.push_back(expr);
}

}  // namespace

CharSet::CharSet(std::vector<CharRange> ranges) : ranges_(std::move(ranges)) {
  std::ranges::sort(ranges_, {}, &CharRange::low);
  size_t kept = 0;
  for (const CharRange& range : ranges_) {
    if (kept > 0 && range.low <= ranges_[kept - 1].high + 1) {
      ranges_[kept - 1].high = std::max(ranges_[kept - 1].high, range.high);
    } else {
      ranges_[kept++] = range;
    }
  }
  ranges_.resize(kept);
}

CharSet CharSet::all() {
  return CharSet({{0, kSurrogates.low - 1}, {kSurrogates.high + 1, kLast}});
}

bool CharSet::contains(char32_t c) const {
  const auto after = std::ranges::upper_bound(ranges_, c, {}, &CharRange::low);
  return after != ranges_.begin() && c <= std::prev(after)->high;
}

std::optional<char32_t> CharSet::only() const {
  const bool one = ranges_.size() == 1 && ranges_.front().low == ranges_.front().high;
  return one ? std::optional(ranges_.front().low) : std::nullopt;
}

CharSet CharSet::operator|(const CharSet& other) const {
  std::vector<CharRange> ranges = ranges_;
  ranges.insert(ranges.end(), other.ranges_.begin(), other.ranges_.end());
  return CharSet(std::move(ranges));
}

CharSet CharSet::operator~() const {
  std::vector<CharRange> gaps;
  char32_t next = 0;
  const CharSet taken = *this | CharSet({kSurrogates});
  for (const CharRange& range : taken.ranges_) {
    if (range.low > next) gaps.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= kLast) gaps.push_back({next, kLast});
  return CharSet(std::move(gaps));
}

CharSet CharSet::operator&(const CharSet& other) const {
  CharSet both;
  auto left = ranges_.begin();
  auto right = other.ranges_.begin();
  while (left != ranges_.end() && right != other.ranges_.end()) {
    const CharRange common = {std::max(left->low, right->low), std::min(left->high, right->high)};
    if (common.low <= common.high) both.ranges_.push_back(common);
    if (left->high < right->high) {
      ++left;
    } else {
      ++right;
    }
  }
  return both;
}

ExprId utf8_character(ExprPool& pool, const CharSet& set) {
  constexpr std::array<CharRange, 4> kLengths = {
      {{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xFFFF}, {0x10000, kLast}}};
  std::vector<ExprId> choices;
  const CharSet valid = set & CharSet::all();
  for (const CharRange& range : valid.ranges()) {
    for (size_t i = 0; i < kLengths.size(); ++i) {
      const CharRange part = {std::max(range.low, kLengths[i].low),
                              std::min(range.high, kLengths[i].high)};
      if (part.low <= part.high) append_range(pool, part, i + 1, choices);
    }
  }
  return pool.alt(choices);
}

}  // namespace deltaserve
