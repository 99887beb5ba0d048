// Which two neighbouring tokens merge, with what rank and into what: a flat hash table, as BPE asks
// it several times for every byte of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "text/vocabulary.h"

namespace deltaserve {

struct MergeRule {
  int32_t left = 0;
  int32_t right = 0;
  int32_t merged = 0;
};

class MergeTable {
 public:
  static constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

  static constexpr size_t kMaxRules = (size_t{1} << 24) - 1;

  // The rank of a rule is its index; of two rules for one pair the later counts, as in
  // `tokenizers`. At most kMaxRules rules; ids are below Vocabulary::kMaxIds.
  explicit MergeTable(const std::vector<MergeRule>& rules);

  // The rank of merging `left` and `right`, lower is sooner; kNoRank if they never merge.
  uint32_t rank(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    const uint64_t key_hash = hash(key);
    const uint64_t bit = key_hash >> filter_shift_;
    if ((filter_[bit / 64] >> (bit % 64) & 1) == 0) return kNoRank;
    const size_t mask = slots_.size() - 1;
    for (size_t i = key_hash & mask;; i = (i + 1) & mask) {
      const uint64_t slot = slots_[i];
      if (slot == kEmpty) return kNoRank;
      if (slot >> kRankBits == key) return static_cast<uint32_t>(slot & kRankMask);
    }
  }

  int32_t merged(uint32_t merge_rank) const { return merged_[merge_rank]; }

 private:
  // A slot is the key, two ids of 20 bits, above a rank of 24 bits: eight bytes, so that a lookup
  // touches one cache line.
  static constexpr uint32_t kIdBits = 20;
  static constexpr uint32_t kRankBits = 24;
  static constexpr uint64_t kRankMask = (uint64_t{1} << kRankBits) - 1;
  static constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();  // no rank is kRankMask
  static constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;  // golden ratio, as in Knuth's hashing
  static_assert(Vocabulary::kMaxIds == int64_t{1} << kIdBits);

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << kIdBits | static_cast<uint64_t>(right);
  }
  // The product's high half, which depends on all bits of the key, folded onto its low half.
  static uint64_t hash(uint64_t key) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(key) * kOdd;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  void insert(const MergeRule& rule, uint32_t rule_rank);

  // One bit a key, at least 16 bits a rule: most pairs never merge, and this says so from a table
  // that fits the second-level cache.
  std::vector<uint64_t> filter_;
  uint32_t filter_shift_ = 0;
  std::vector<uint64_t> slots_;  // a power of two, at most half full
  std::vector<int32_t> merged_;
};

}  // namespace deltaserve
