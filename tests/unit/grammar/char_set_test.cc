// Operations on sets of characters against their members, at the ends of ranges and the surrogates.
#include "grammar/char_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace deltaserve {
namespace {

const std::vector<CharSet> kSets = {
    CharSet(),
    CharSet::all(),
    CharSet::of('a'),
    CharSet({{'a', 'f'}, {'0', '9'}}),
    CharSet({{0, 'c'}, {'e', 0x10FFFF}}),
    CharSet({{0xD7FF, 0xD7FF}, {0xE000, 0xE000}}),
    ~CharSet({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}),
};

// Every end of a range that occurs, with its neighbours.
std::vector<char32_t> probes() {
  std::vector<char32_t> found = {0};
  for (const CharSet& set : kSets) {
    for (const CharRange& range : set.ranges()) {
      for (const char32_t end : {range.low, range.high}) {
        for (const uint32_t step : {0U, 1U, 2U}) {
          const auto c = static_cast<char32_t>(end + step - 1);
          const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
          if (c <= 0x10FFFF && !surrogate) found.push_back(c);
        }
      }
    }
  }
  return found;
}

TEST(CharSet, OperationsAgreeWithTheirMembers) {
  for (const CharSet& left : kSets) {
    for (const CharSet& right : kSets) {
      const CharSet both = left & right;
      const CharSet either = left | right;
      for (const char32_t c : probes()) {
        EXPECT_EQ(both.contains(c), left.contains(c) && right.contains(c));
        EXPECT_EQ(either.contains(c), left.contains(c) || right.contains(c));
        EXPECT_EQ((~left).contains(c), !left.contains(c));
      }
    }
  }
}

TEST(CharSet, RangesAreSortedAndApart) {
  for (const CharSet& left : kSets) {
    for (const CharSet& right : kSets) {
      for (const CharSet& set : {left & right, left | right, ~left}) {
        const std::vector<CharRange>& ranges = set.ranges();
        for (size_t i = 0; i < ranges.size(); ++i) {
          EXPECT_LE(ranges[i].low, ranges[i].high);
          if (i > 0) {
            EXPECT_GT(ranges[i].low, ranges[i - 1].high + 1);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace deltaserve
