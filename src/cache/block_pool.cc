// A stack of free ids and a count for each block.
#include "cache/block_pool.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {

BlockPool::BlockPool(int32_t num_blocks) {
  DS_CHECK(num_blocks >= 0);
  ref_counts_.resize(static_cast<size_t>(num_blocks));
  free_.reserve(ref_counts_.size());
  recount({});
}

int32_t BlockPool::ref_count(int32_t block) const {
  DS_CHECK(block >= 0 && block < num_blocks());
  return ref_counts_[static_cast<size_t>(block)];
}

std::optional<int32_t> BlockPool::allocate() {
  if (free_.empty()) return std::nullopt;
  const int32_t block = free_.back();
  free_.pop_back();
  ref_counts_[static_cast<size_t>(block)] = 1;
  return block;
}

void BlockPool::add_ref(int32_t block) {
  DS_CHECK(ref_count(block) > 0, "a free block cannot be shared");
  ++ref_counts_[static_cast<size_t>(block)];
}

void BlockPool::release(int32_t block) {
  DS_CHECK(ref_count(block) > 0, "the block is free already");
  if (--ref_counts_[static_cast<size_t>(block)] == 0) free_.push_back(block);
}

void BlockPool::recount(std::span<const std::span<const int32_t>> held) {
  std::ranges::fill(ref_counts_, 0);
  for (const std::span<const int32_t> blocks : held) {
    for (const int32_t block : blocks) {
      DS_CHECK(block >= 0 && block < num_blocks());
      ++ref_counts_[static_cast<size_t>(block)];
    }
  }
  free_.clear();
  for (int32_t block = num_blocks() - 1; block >= 0; --block) {
    if (ref_counts_[static_cast<size_t>(block)] == 0) free_.push_back(block);
  }
}

}  // namespace deltaserve
