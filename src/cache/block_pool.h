// The KV cache's blocks as numbers: who may use which block, counted by reference. The memory
// behind a block id is the model's. A block with more than one reference is read by several owners
// (shared prefixes) and written by none. Blocks that nobody but the prefix cache holds are counted
// too: they can be had at any time. All operations but recount are O(1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace deltaserve {

class BlockPool {
 public:
  explicit BlockPool(int32_t num_blocks);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  int32_t num_blocks() const { return static_cast<int32_t>(ref_counts_.size()); }
  int32_t num_free() const { return static_cast<int32_t>(free_.size()); }
  int32_t ref_count(int32_t block) const;
  // Blocks that have no references but the cache's.
  int32_t num_reclaimable() const { return num_reclaimable_; }

  // A free block, now with one reference; none if all are in use.
  std::optional<int32_t> allocate();
  void add_ref(int32_t block);
  // Gives one reference back; the last one frees the block.
  void release(int32_t block);
  // The same for references of the prefix cache.
  void add_cache_ref(int32_t block);
  void release_cache_ref(int32_t block);

  // Sets every count to the number of times that the block stands in `held`, plus the cache's
  // references: makes the pool whole again when an exception may have struck between taking a block
  // and storing its id.
  void recount(std::span<const std::span<const int32_t>> held);

 private:
  bool is_reclaimable(size_t block) const {
    return cache_refs_[block] > 0 && cache_refs_[block] == ref_counts_[block];
  }
  // Adds to the counts and keeps the two totals right.
  void change(int32_t block, int32_t refs, int32_t cache_refs);

  std::vector<int32_t> ref_counts_;  // [num_blocks]
  std::vector<int32_t> cache_refs_;  // [num_blocks] the cache's part of them
  std::vector<int32_t> free_;        // stack; its capacity is num_blocks from the start
  int32_t num_reclaimable_ = 0;
};

}  // namespace deltaserve
