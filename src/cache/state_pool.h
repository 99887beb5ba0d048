// Slots for recurrent and convolution state: those of running sequences, one a sequence, and in a
// pool of their own those of the snapshots that the prefix cache keeps. As with blocks the memory
// behind a slot is the model's. A slot's content counts as zero for a sequence that starts, so that
// nothing need be cleared when it changes hands.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace deltaserve {

class StatePool;

// One slot, owned; returned to its pool at destruction.
class StateSlot {
 public:
  StateSlot(StateSlot&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), id_(other.id_) {}
  StateSlot& operator=(StateSlot&& other) noexcept;
  StateSlot(const StateSlot&) = delete;
  StateSlot& operator=(const StateSlot&) = delete;
  ~StateSlot();

  int32_t id() const { return id_; }

 private:
  friend class StatePool;
  StateSlot(StatePool& pool, int32_t id) : pool_(&pool), id_(id) {}

  StatePool* pool_;
  int32_t id_;
};

class StatePool {
 public:
  // Slots [first_slot, first_slot + num_slots) of the model.
  explicit StatePool(int32_t num_slots, int32_t first_slot = 0);
  StatePool(const StatePool&) = delete;
  StatePool& operator=(const StatePool&) = delete;

  int32_t num_slots() const { return static_cast<int32_t>(in_use_.size()); }
  int32_t first_slot() const { return first_slot_; }
  int32_t num_free() const { return static_cast<int32_t>(free_.size()); }
  bool in_use(int32_t slot) const;

  std::optional<StateSlot> acquire();

  // Makes exactly the slots in `held` used: see BlockPool::recount.
  void recount(std::span<const int32_t> held);

 private:
  friend class StateSlot;
  void release(int32_t slot);
  size_t index_of(int32_t slot) const;

  int32_t first_slot_;
  std::vector<uint8_t> in_use_;  // [num_slots]
  std::vector<int32_t> free_;    // stack
};

}  // namespace deltaserve
