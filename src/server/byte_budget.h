// A limit on memory that all connections share: bytes of request bodies that have been read and not
// yet been turned into jobs. Without it a thousand clients could each be within their own limit and
// together beyond the machine's.
#pragma once

#include <atomic>
#include <cstddef>

namespace deltaserve {

class ByteBudget {
 public:
  explicit ByteBudget(size_t limit) : limit_(limit) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // What one body takes of the budget; given back when this is destroyed.
  class Share {
   public:
    Share() = default;
    // `budget` must outlive this.
    explicit Share(ByteBudget& budget) : budget_(&budget) {}
    ~Share() { release(); }
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;

    // Holds `bytes`, which is at least what it holds already. False if the budget has no room for
    // them: nothing has changed then.
    bool grow_to(size_t bytes);
    void release();

   private:
    ByteBudget* budget_ = nullptr;
    size_t held_ = 0;
  };

  // Whether that many more bytes would fit now.
  bool has_room_for(size_t bytes) const;
  size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  size_t limit_;
  std::atomic<size_t> used_ = 0;
};

}  // namespace deltaserve
