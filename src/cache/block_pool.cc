// A stack of free ids and a count for each block.
#include "cache/block_pool.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {

BlockPool::BlockPool(int32_t num_blocks) {
  DS_CHECK(num_blocks >= 0);
  ref_counts_.resize(static_cast<size_t>(num_blocks));
  cache_refs_.resize(ref_counts_.size());
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

void BlockPool::change(int32_t block, int32_t refs, int32_t cache_refs) {
  const auto i = static_cast<size_t>(block);
  const bool before = is_reclaimable(i);
  ref_counts_[i] += refs;
  cache_refs_[i] += cache_refs;
  num_reclaimable_ += (is_reclaimable(i) ? 1 : 0) - (before ? 1 : 0);
  if (ref_counts_[i] == 0) free_.push_back(block);
}

void BlockPool::add_ref(int32_t block) {
  DS_CHECK(ref_count(block) > 0, "a free block cannot be shared");
  change(block, 1, 0);
}

void BlockPool::release(int32_t block) {
  DS_CHECK(ref_count(block) > cache_refs_[static_cast<size_t>(block)], "the block is free already");
  change(block, -1, 0);
}

void BlockPool::add_cache_ref(int32_t block) {
  DS_CHECK(ref_count(block) > 0, "a free block cannot be cached");
  change(block, 1, 1);
}

void BlockPool::release_cache_ref(int32_t block) {
  DS_CHECK(ref_count(block) > 0 && cache_refs_[static_cast<size_t>(block)] > 0,
           "the cache does not hold the block");
  change(block, -1, -1);
}

void BlockPool::recount(std::span<const std::span<const int32_t>> held) {
  ref_counts_ = cache_refs_;
  for (const std::span<const int32_t> blocks : held) {
    for (const int32_t block : blocks) {
      DS_CHECK(block >= 0 && block < num_blocks());
      ++ref_counts_[static_cast<size_t>(block)];
    }
  }
  free_.clear();
  num_reclaimable_ = 0;
  for (int32_t block = num_blocks() - 1; block >= 0; --block) {
    const auto i = static_cast<size_t>(block);
    if (ref_counts_[i] == 0) free_.push_back(block);
    if (is_reclaimable(i)) ++num_reclaimable_;
  }
}

}  // namespace deltaserve
