// Growth in whole blocks, all or nothing.
#include "cache/block_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace deltaserve {

bool BlockTable::reserve_tokens(int64_t num_tokens) {
  const int64_t missing = blocks_for_tokens(num_tokens) - num_blocks();
  if (missing <= 0) return true;
  if (missing > pool_->num_free()) return false;
  const size_t wanted = blocks_.size() + static_cast<size_t>(missing);
  // Doubling keeps a decoding sequence from moving its table at every new block.
  if (wanted > blocks_.capacity()) blocks_.reserve(std::max(wanted, 2 * blocks_.capacity()));
  while (blocks_.size() < wanted) blocks_.push_back(pool_->allocate().value());
  return true;
}

void BlockTable::share(std::span<const int32_t> blocks) {
  blocks_.reserve(blocks_.size() + blocks.size());
  for (const int32_t block : blocks) {
    pool_->add_ref(block);
    blocks_.push_back(block);
  }
}

void BlockTable::replace(int64_t index, int32_t block) {
  int32_t& place = blocks_.at(static_cast<size_t>(index));
  pool_->add_ref(block);
  pool_->release(std::exchange(place, block));
}

void BlockTable::clear() {
  for (const int32_t block : blocks_) pool_->release(block);
  blocks_.clear();
}

int32_t BlockTable::slot_of(int64_t token_index) const {
  const auto block = static_cast<size_t>(token_index / kBlockSize);
  DS_CHECK(token_index >= 0 && block < blocks_.size());
  return blocks_[block] * kBlockSize + static_cast<int32_t>(token_index % kBlockSize);
}

}  // namespace deltaserve
