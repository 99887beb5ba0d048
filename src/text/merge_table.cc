// See merge_table.h.
#include "text/merge_table.h"

#include <algorithm>
#include <bit>

namespace deltaserve {
namespace {

constexpr size_t kMinRules = 64;
constexpr size_t kFilterBitsPerRule = 16;

}  // namespace

MergeTable::MergeTable(const std::vector<MergeRule>& rules) {
  const size_t count = std::max(rules.size(), kMinRules);
  slots_.resize(std::bit_ceil(2 * count));
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
  const uint64_t key_hash = hash(key_of(rule.left, rule.right));
  const uint64_t bit = key_hash >> filter_shift_;
  filter_[bit / 64] |= uint64_t{1} << (bit % 64);
  const size_t mask = slots_.size() - 1;
  size_t i = key_hash & mask;
  while (slots_[i].rank != kNoRank &&
         !(slots_[i].left == rule.left && slots_[i].right == rule.right)) {
    i = (i + 1) & mask;
  }
  slots_[i] = {rule.left, rule.right, rule_rank};
}

}  // namespace deltaserve
