// Allocation and copies of the cache pools.
#include "model/cache_buffers.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace deltaserve {

namespace {

// The conv state is what a width-4 convolution still needs: the last three inputs, as float32.
constexpr int64_t kConvHistory = 3;

Result<void> allocate_layers(Backend& backend, int64_t num_layers, int64_t count, int64_t bytes,
                             std::vector<DeviceBuffer>& layers) {
  for (int64_t i = 0; i < num_layers; ++i) {
    int64_t total = 0;
    if (__builtin_mul_overflow(count, bytes, &total)) {
      return invalid(fmt::format("a cache of {} entries of {} bytes is too large", count, bytes));
    }
    Result<DeviceBuffer> buffer = DeviceBuffer::allocate(backend, static_cast<size_t>(total));
    if (!buffer) {
      return std::unexpected(std::move(buffer.error()));
    }
    layers.push_back(std::move(*buffer));
  }
  return {};
}

void copy_entry(Backend& backend, void* memory, int64_t from, int64_t to, int64_t bytes) {
  auto* base = static_cast<std::byte*>(memory);
  backend.copy_on_device(base + to * bytes, base + from * bytes, static_cast<size_t>(bytes));
}

// Both return where the next entry lies.
std::byte* save_entry(Backend& backend, const DeviceBuffer& buffer, int64_t index, int64_t bytes,
                      std::byte* to) {
  backend.copy_to_host(to, buffer.as<std::byte>() + index * bytes, static_cast<size_t>(bytes));
  return to + bytes;
}

const std::byte* load_entry(Backend& backend, const DeviceBuffer& buffer, int64_t index,
                            int64_t bytes, const std::byte* from) {
  backend.copy_to_device(buffer.as<std::byte>() + index * bytes, from, static_cast<size_t>(bytes));
  return from + bytes;
}

}  // namespace

void LinearState::copy(Backend& backend, int32_t from_slot, int32_t to_slot) const {
  copy_entry(backend, conv, from_slot, to_slot, conv_bytes);
  copy_entry(backend, recurrent, from_slot, to_slot, recurrent_bytes);
}

CacheShape cache_shape(const ModelConfig& config) {
  return {.num_kv_heads = config.num_key_value_heads,
          .head_dim = config.head_dim,
          .num_v_heads = config.linear_num_value_heads,
          .dk = config.linear_key_head_dim,
          .dv = config.linear_value_head_dim};
}

CacheBuffers::CacheBuffers(const ModelConfig& config, Backend& backend)
    : backend_(&backend),
      num_full_layers_(config.num_full_layers()),
      num_linear_layers_(config.num_linear_layers()) {
  const CacheShape shape = cache_shape(config);
  layer_block_bytes_ = backend.kv_block_bytes(shape);
  layer_recurrent_bytes_ = backend.recurrent_state_bytes(shape);
  layer_conv_bytes_ = kConvHistory * config.conv_channels() * int64_t{sizeof(float)};
}

Result<void> CacheBuffers::allocate(int64_t num_blocks, int64_t num_state_slots) {
  DS_CHECK(kv_.empty() && conv_.empty() && num_blocks >= 0 && num_state_slots >= 0);
  num_blocks_ = num_blocks;
  num_state_slots_ = num_state_slots;
  if (Result<void> kv =
          allocate_layers(*backend_, num_full_layers_, num_blocks, layer_block_bytes_, kv_);
      !kv) {
    return kv;
  }
  if (Result<void> conv =
          allocate_layers(*backend_, num_linear_layers_, num_state_slots, layer_conv_bytes_, conv_);
      !conv) {
    return conv;
  }
  return allocate_layers(*backend_, num_linear_layers_, num_state_slots, layer_recurrent_bytes_,
                         recurrent_);
}

int64_t CacheBuffers::kv_block_bytes() const {
  return num_full_layers_ * layer_block_bytes_;
}

int64_t CacheBuffers::state_slot_bytes() const {
  return num_linear_layers_ * (layer_conv_bytes_ + layer_recurrent_bytes_);
}

void CacheBuffers::copy_state(int32_t from_slot, int32_t to_slot) const {
  DS_CHECK(from_slot >= 0 && from_slot < num_state_slots_ && to_slot >= 0 &&
           to_slot < num_state_slots_);
  if (from_slot == to_slot) {
    return;
  }
  for (size_t i = 0; i < conv_.size(); ++i) linear_state(i).copy(*backend_, from_slot, to_slot);
}

void CacheBuffers::copy_block(int32_t from_block, int32_t to_block) const {
  DS_CHECK(from_block >= 0 && from_block < num_blocks_ && to_block >= 0 && to_block < num_blocks_);
  if (from_block == to_block) {
    return;
  }
  for (const DeviceBuffer& layer : kv_) {
    copy_entry(*backend_, layer.data(), from_block, to_block, layer_block_bytes_);
  }
}

void CacheBuffers::save_state(int32_t slot, std::byte* to) const {
  DS_CHECK(slot >= 0 && slot < num_state_slots_);
  for (size_t i = 0; i < conv_.size(); ++i) {
    to = save_entry(*backend_, conv_[i], slot, layer_conv_bytes_, to);
    to = save_entry(*backend_, recurrent_[i], slot, layer_recurrent_bytes_, to);
  }
}

void CacheBuffers::load_state(const std::byte* from, int32_t slot) const {
  DS_CHECK(slot >= 0 && slot < num_state_slots_);
  for (size_t i = 0; i < conv_.size(); ++i) {
    from = load_entry(*backend_, conv_[i], slot, layer_conv_bytes_, from);
    from = load_entry(*backend_, recurrent_[i], slot, layer_recurrent_bytes_, from);
  }
}

void CacheBuffers::save_block(int32_t block, std::byte* to) const {
  DS_CHECK(block >= 0 && block < num_blocks_);
  for (const DeviceBuffer& layer : kv_) {
    to = save_entry(*backend_, layer, block, layer_block_bytes_, to);
  }
}

void CacheBuffers::load_block(const std::byte* from, int32_t block) const {
  DS_CHECK(block >= 0 && block < num_blocks_);
  for (const DeviceBuffer& layer : kv_) {
    from = load_entry(*backend_, layer, block, layer_block_bytes_, from);
  }
}

}  // namespace deltaserve
