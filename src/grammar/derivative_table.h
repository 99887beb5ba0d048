// The derivatives found so far: (expression, byte) to expression, in one flat table. It is asked at
// every step of every walk, where the nodes of a std::unordered_map cost more than deriving does.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace deltaserve {

class DerivativeTable {
 public:
  std::optional<uint32_t> find(uint32_t expr, uint8_t byte) const {
    const uint64_t key = key_of(expr, byte);
    for (size_t slot = slot_of(key);; slot = (slot + 1) & (entries_.size() - 1)) {
      if (entries_[slot].key == key) return entries_[slot].result;
      if (entries_[slot].key == kFree) return std::nullopt;
    }
  }

  // The key is not there yet.
  void add(uint32_t expr, uint8_t byte, uint32_t result) {
    if (++size_ * 2 > entries_.size()) grow();
    place({key_of(expr, byte), result});
  }

  size_t size() const { return size_; }
  size_t memory() const { return entries_.capacity() * sizeof(Entry); }

  void clear() {
    entries_.assign(kFirstSize, {});
    size_ = 0;
  }

 private:
  static constexpr size_t kFirstSize = 1024;  // a power of two
  static constexpr uint64_t kFree = 0;
  struct Entry {
    uint64_t key = kFree;
    uint32_t result = 0;
  };

  static uint64_t key_of(uint32_t expr, uint8_t byte) { return (uint64_t{expr} << 8 | byte) + 1; }
  // Fibonacci hashing: the high bits of the product.
  size_t slot_of(uint64_t key) const {
    const int bits = std::countr_zero(entries_.size());
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15ULL) >> (64 - bits));
  }
  void place(const Entry& entry) {
    size_t slot = slot_of(entry.key);
    while (entries_[slot].key != kFree) slot = (slot + 1) & (entries_.size() - 1);
    entries_[slot] = entry;
  }
  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.key != kFree) place(entry);
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(kFirstSize);
  size_t size_ = 0;
};

}  // namespace deltaserve
