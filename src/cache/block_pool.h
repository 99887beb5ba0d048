// The KV cache's blocks as numbers: who may use which block, counted by reference. The memory
// behind a block id is the model's. A block with more than one reference is read by several owners
// (shared prefixes) and written by none. Allocation and release are O(1); there is no other state.
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

  // A free block, now with one reference; none if all are in use.
  std::optional<int32_t> allocate();
  void add_ref(int32_t block);
  // Gives one reference back; the last one frees the block.
  void release(int32_t block);

  // Sets every count to the number of times that the block stands in `held`: makes the pool whole
  // again when an exception may have struck between taking a block and storing its id.
  void recount(std::span<const std::span<const int32_t>> held);

 private:
  std::vector<int32_t> ref_counts_;  // [num_blocks]
  std::vector<int32_t> free_;        // stack; its capacity is num_blocks from the start
};

}  // namespace deltaserve
