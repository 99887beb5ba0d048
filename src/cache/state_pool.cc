// A stack of free slots and a flag for each.
#include "cache/state_pool.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {

StateSlot& StateSlot::operator=(StateSlot&& other) noexcept {
  if (this == &other) return *this;
  if (pool_ != nullptr) pool_->release(id_);
  pool_ = std::exchange(other.pool_, nullptr);
  id_ = other.id_;
  return *this;
}

StateSlot::~StateSlot() {
  if (pool_ != nullptr) pool_->release(id_);
}

StatePool::StatePool(int32_t num_slots, int32_t first_slot) : first_slot_(first_slot) {
  DS_CHECK(num_slots >= 0 && first_slot >= 0);
  in_use_.resize(static_cast<size_t>(num_slots));
  free_.reserve(in_use_.size());
  recount({});
}

size_t StatePool::index_of(int32_t slot) const {
  DS_CHECK(slot >= first_slot_ && slot - first_slot_ < num_slots());
  return static_cast<size_t>(slot - first_slot_);
}

bool StatePool::in_use(int32_t slot) const {
  return in_use_[index_of(slot)] != 0;
}

std::optional<StateSlot> StatePool::acquire() {
  if (free_.empty()) return std::nullopt;
  const int32_t slot = free_.back();
  free_.pop_back();
  in_use_[index_of(slot)] = 1;
  return StateSlot(*this, slot);
}

void StatePool::release(int32_t slot) {
  in_use_[index_of(slot)] = 0;
  free_.push_back(slot);
}

void StatePool::recount(std::span<const int32_t> held) {
  std::ranges::fill(in_use_, uint8_t{0});
  for (const int32_t slot : held) in_use_[index_of(slot)] = 1;
  free_.clear();
  for (int32_t i = num_slots() - 1; i >= 0; --i) {
    if (in_use_[static_cast<size_t>(i)] == 0) free_.push_back(first_slot_ + i);
  }
}

}  // namespace deltaserve
