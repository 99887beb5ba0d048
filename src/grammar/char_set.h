// A set of Unicode characters as sorted, disjoint ranges, and the expressions that match one of
// them in UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "grammar/expr.h"

namespace deltaserve {

struct CharRange {
  char32_t low = 0;
  char32_t high = 0;  // inside
};

class CharSet {
 public:
  CharSet() = default;
  explicit CharSet(std::vector<CharRange> ranges);  // in any order, may overlap

  static CharSet all();  // every Unicode scalar value: no surrogates
  static CharSet of(char32_t c) { return CharSet({{c, c}}); }

  const std::vector<CharRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  bool contains(char32_t c) const;
  std::optional<char32_t> only() const;  // the one character; none if there are more or less

  CharSet operator|(const CharSet& other) const;
  CharSet operator&(const CharSet& other) const;
  CharSet operator~() const;  // within all()

 private:
  std::vector<CharRange> ranges_;
};

// One character of the set, as UTF-8.
ExprId utf8_character(ExprPool& pool, const CharSet& set);

}  // namespace deltaserve
