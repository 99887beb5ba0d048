// The pools behind block tables and state slots: KV blocks of every full-attention layer, conv and
// recurrent state of every linear layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "model/config.h"
#include "model/device_buffer.h"
#include "ops/backend.h"

namespace deltaserve {

// What a backend needs to know of a model to lay out its caches.
CacheShape cache_shape(const ModelConfig& config);

// The pools of a linear layer, for what computes it: pointers and the size of a slot in each.
struct LinearState {
  float* conv = nullptr;
  float* recurrent = nullptr;
  int64_t conv_bytes = 0;
  int64_t recurrent_bytes = 0;

  void copy(Backend& backend, int32_t from_slot, int32_t to_slot) const;
};

class CacheBuffers {
 public:
  CacheBuffers() = default;
  CacheBuffers(const ModelConfig& config, Backend& backend);  // sizes only

  Result<void> allocate(int64_t num_blocks, int64_t num_state_slots);

  // `index` counts layers of the same type.
  void* kv(size_t index) const { return kv_[index].data(); }
  LinearState linear_state(size_t index) const {
    return {.conv = conv_[index].as<float>(),
            .recurrent = recurrent_[index].as<float>(),
            .conv_bytes = layer_conv_bytes_,
            .recurrent_bytes = layer_recurrent_bytes_};
  }

  int64_t kv_block_bytes() const;    // over all layers
  int64_t state_slot_bytes() const;  // over all layers
  int64_t num_blocks() const { return num_blocks_; }
  int64_t num_state_slots() const { return num_state_slots_; }

  void copy_state(int32_t from_slot, int32_t to_slot) const;
  void copy_block(int32_t from_block, int32_t to_block) const;
  // Host memory of state_slot_bytes() or kv_block_bytes(): layer after layer.
  void save_state(int32_t slot, std::byte* to) const;
  void load_state(const std::byte* from, int32_t slot) const;
  void save_block(int32_t block, std::byte* to) const;
  void load_block(const std::byte* from, int32_t block) const;

 private:
  Backend* backend_ = nullptr;
  int64_t num_full_layers_ = 0;
  int64_t num_linear_layers_ = 0;
  int64_t layer_block_bytes_ = 0;
  int64_t layer_conv_bytes_ = 0;
  int64_t layer_recurrent_bytes_ = 0;
  int64_t num_blocks_ = 0;
  int64_t num_state_slots_ = 0;
  std::vector<DeviceBuffer> kv_;
  std::vector<DeviceBuffer> conv_;
  std::vector<DeviceBuffer> recurrent_;
};

}  // namespace deltaserve
