// ByteBudget: one counter; taking is add, compare, take back.
#include "server/byte_budget.h"

#include <utility>

namespace deltaserve {

bool ByteBudget::has_room_for(size_t bytes) const {
  const size_t used = used_.load(std::memory_order_relaxed);
  return used <= limit_ && bytes <= limit_ - used;
}

ByteBudget::Share::Share(Share&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)), held_(std::exchange(other.held_, 0)) {}

ByteBudget::Share& ByteBudget::Share::operator=(Share&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::exchange(other.budget_, nullptr);
    held_ = std::exchange(other.held_, 0);
  }
  return *this;
}

bool ByteBudget::Share::grow_to(size_t bytes) {
  const size_t more = bytes - held_;
  if (more == 0) {
    return true;
  }
  const size_t before = budget_->used_.fetch_add(more, std::memory_order_relaxed);
  if (before > budget_->limit_ || more > budget_->limit_ - before) {
    budget_->used_.fetch_sub(more, std::memory_order_relaxed);
    return false;
  }
  held_ = bytes;
  return true;
}

void ByteBudget::Share::release() {
  if (held_ > 0) {
    budget_->used_.fetch_sub(std::exchange(held_, 0), std::memory_order_relaxed);
  }
}

}  // namespace deltaserve
