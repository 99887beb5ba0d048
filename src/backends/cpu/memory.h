// Large zeroed buffers in anonymous memory that asks for 2 MiB pages: weights streamed from 4 KiB
// pages spend their time in the TLB.
#pragma once

#include <cstddef>
#include <utility>

#include "base/error.h"

namespace deltaserve {

class HugeBuffer {
 public:
  HugeBuffer() = default;
  HugeBuffer(HugeBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        mapping_(std::exchange(other.mapping_, nullptr)),
        mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;
  ~HugeBuffer();

  // `bytes` zeroed bytes, 64-byte aligned (2 MiB aligned from that size on). Pages are backed when
  // they are first written. Fails if the address space or the memory is exhausted.
  static Result<HugeBuffer> allocate(size_t bytes);

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  size_t size_ = 0;
};

// Bytes this process may still use: the machine's available memory, within its cgroup's limit.
size_t available_memory();

}  // namespace deltaserve
