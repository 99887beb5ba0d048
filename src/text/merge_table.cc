// See merge_table.h.
#include "text/merge_table.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace deltaserve {
namespace {

constexpr size_t kMinRules = 64;
constexpr size_t kFilterBitsPerRule = 16;

}  // namespace

MergeTable::MergeTable(const std::vector<MergeRule>& rules) {
  const size_t count = std::max(rules.size(), kMinRules);
  DS_CHECK(rules.size() <= kMaxRules, "too many merge rules");
  slots_.assign(std::bit_ceil(2 * count), kEmpty);
  const size_t filter_bits = std::bit_ceil(kFilterBitsPerRule * count);
  filter_.resize(filter_bits / 64);
  filter_shift_ = 64 - static_cast<uint32_t>(std::bit_width(filter_bits) - 1);
  merged_.reserve(rules.size());
  for (const MergeRule& rule : rules) {
    insert(rule, static_cast<uint32_t>(merged_.size()));
    merged_.push_back(rule.merged);
  }
}

void MergeTable::insert(const MergeRule& rule, uint32_t rule_rank) {
  const uint64_t key = key_of(rule.left, rule.right);
  const uint64_t key_hash = hash(key);
  const uint64_t bit = key_hash >> filter_shift_;
  filter_[bit / 64] |= uint64_t{1} << (bit % 64);
  const size_t mask = slots_.size() - 1;
  size_t i = key_hash & mask;
  while (slots_[i] != kEmpty && slots_[i] >> kRankBits != key) i = (i + 1) & mask;
  slots_[i] = key << kRankBits | rule_rank;
}

}  // namespace deltaserve
