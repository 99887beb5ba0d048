// The KV blocks of one sequence in the order of its tokens. It owns one reference to each and gives
// them back when it is cleared or destroyed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/block_pool.h"
#include "ops/batch_view.h"

namespace deltaserve {

// Blocks that hold `num_tokens` tokens.
constexpr int64_t blocks_for_tokens(int64_t num_tokens) {
  return (num_tokens + kBlockSize - 1) / kBlockSize;
}

class BlockTable {
 public:
  explicit BlockTable(BlockPool& pool) : pool_(&pool) {}
  ~BlockTable() { clear(); }
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  // Makes room for `num_tokens` tokens in all. False, with nothing taken, if the pool has too few.
  bool reserve_tokens(int64_t num_tokens);
  // Appends blocks that others own too, with one more reference each. None of them is written
  // through this table: the tokens that follow begin a block of their own.
  void share(std::span<const int32_t> blocks);
  // Block `index` becomes `block`, which holds the same tokens, with one more reference.
  void replace(int64_t index, int32_t block);
  void clear();

  std::span<const int32_t> blocks() const { return blocks_; }
  int32_t num_blocks() const { return static_cast<int32_t>(blocks_.size()); }
  // Where the KV of the token at this index of the sequence lies: see BatchView::slot_mapping.
  int32_t slot_of(int64_t token_index) const;

 private:
  BlockPool* pool_;
  std::vector<int32_t> blocks_;
};

}  // namespace deltaserve
