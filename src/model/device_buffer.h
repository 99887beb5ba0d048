// Memory of a backend, released with its owner.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/error.h"
#include "ops/backend.h"

namespace deltaserve {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : backend_(std::exchange(other.backend_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() {
    if (data_ != nullptr) {
      backend_->release(data_);
    }
  }

  // Zeroed memory; empty for zero bytes. Errors: the device has no more.
  static Result<DeviceBuffer> allocate(Backend& backend, size_t bytes) {
    DeviceBuffer buffer;
    if (bytes != 0) {
      const Result<void*> data = backend.allocate(bytes);
      if (!data) {
        return std::unexpected(data.error());
      }
      buffer.backend_ = &backend;
      buffer.data_ = *data;
      buffer.bytes_ = bytes;
    }
    return buffer;
  }

  // A copy of host values on the device.
  template <typename T>
  static Result<DeviceBuffer> upload(Backend& backend, std::span<const T> values) {
    Result<DeviceBuffer> buffer = allocate(backend, values.size_bytes());
    if (buffer && !values.empty()) {
      backend.copy_to_device(buffer->data(), values.data(), values.size_bytes());
    }
    return buffer;
  }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace deltaserve
