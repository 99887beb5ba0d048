// See unicode_classes.h. The generated runs are unfolded into a two-stage table: equal blocks of
// 128 code points are stored once.
#include "text/unicode_classes.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"

namespace deltaserve {
namespace {

struct Run {
  uint32_t length;
  uint8_t flags;
};

constexpr Run kRuns[] = {
#include "text/unicode_classes.inc"
};

}  // namespace

UnicodeClasses::UnicodeClasses() {
  std::map<std::array<uint8_t, kBlockSize>, uint16_t> known;
  std::array<uint8_t, kBlockSize> block{};
  uint32_t filled = 0;
  size_t block_number = 0;
  for (const Run& run : kRuns) {
    for (uint32_t left = run.length; left > 0;) {
      const uint32_t count = std::min(left, kBlockSize - filled);
      std::fill_n(block.begin() + filled, count, run.flags);
      left -= count;
      filled = (filled + count) % kBlockSize;
      if (filled != 0) continue;
      const auto [entry, is_new] = known.try_emplace(block, static_cast<uint16_t>(known.size()));
      if (is_new) blocks_.insert(blocks_.end(), block.begin(), block.end());
      DS_CHECK(block_number < index_.size(), "unicode_classes.inc covers too much");
      index_[block_number++] = entry->second;
    }
  }
  DS_CHECK(block_number == index_.size() && filled == 0, "unicode_classes.inc covers too little");
}

const UnicodeClasses& UnicodeClasses::get() {
  static const UnicodeClasses table;
  return table;
}

}  // namespace deltaserve
