// Memory of the host for cache content that the device has no room for: entries of one size in one
// allocation, made at start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace deltaserve {

class HostStore {
 public:
  HostStore(int64_t entry_bytes, int64_t num_entries);

  int64_t num_entries() const { return static_cast<int64_t>(in_use_.size()); }
  int64_t num_free() const { return static_cast<int64_t>(free_.size()); }
  int64_t entry_bytes() const { return entry_bytes_; }
  bool in_use(int32_t entry) const;

  std::optional<int32_t> allocate();
  void release(int32_t entry);
  std::byte* data(int32_t entry);
  const std::byte* data(int32_t entry) const;

 private:
  int64_t entry_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<uint8_t> in_use_;  // [num_entries]
  std::vector<int32_t> free_;    // stack
};

// Copies between device and host, over all layers. Done when they return.
class CacheTransfer {
 public:
  virtual ~CacheTransfer() = default;
  virtual int64_t block_bytes() const = 0;  // of a KV block
  virtual int64_t state_bytes() const = 0;  // of a state slot
  virtual void save_block(int32_t block, std::byte* to) = 0;
  virtual void load_block(const std::byte* from, int32_t block) = 0;
  virtual void save_state(int32_t slot, std::byte* to) = 0;
  virtual void load_state(const std::byte* from, int32_t slot) = 0;
};

}  // namespace deltaserve
