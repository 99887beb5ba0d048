// Packs a Batch into one array of int32 with every part on a 64-byte border.
#include "model/batch_buffers.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/check.h"

namespace deltaserve {

namespace {

constexpr int64_t kPartAlignment = 16;  // int32 values in 64 bytes

int64_t padded(int64_t count) {
  return (count + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

// int32 values that the largest batch takes. `recurrent` is bytes; it gets a value each.
int64_t capacity(const StepLimits& limits) {
  const int64_t blocks = (limits.max_model_len + kBlockSize - 1) / kBlockSize;
  return padded(limits.max_tokens) * 2 + padded(3 * limits.max_tokens) +
         padded(limits.max_seqs + 1) + padded(limits.max_seqs) * 3 +
         padded(limits.max_seqs * blocks);
}

// Appends parts to the staging area and says where they lie on the device.
class Packer {
 public:
  Packer(std::vector<int32_t>& staging, int32_t* device) : staging_(staging), device_(device) {}

  const int32_t* add(std::span<const int32_t> values) {
    const int64_t place = used_;
    used_ += padded(static_cast<int64_t>(values.size()));
    DS_CHECK(used_ <= static_cast<int64_t>(staging_.size()));
    std::ranges::copy(values, staging_.begin() + place);
    return device_ + place;
  }

  const uint8_t* add_bytes(std::span<const uint8_t> values) {
    const int64_t place = used_;
    used_ += padded(static_cast<int64_t>(values.size()));
    DS_CHECK(used_ <= static_cast<int64_t>(staging_.size()));
    if (!values.empty()) {
      std::memcpy(staging_.data() + place, values.data(), values.size());
    }
    return reinterpret_cast<const uint8_t*>(device_ + place);
  }

  size_t used_bytes() const { return static_cast<size_t>(used_) * sizeof(int32_t); }

 private:
  std::vector<int32_t>& staging_;
  int32_t* device_;
  int64_t used_ = 0;
};

}  // namespace

void check_batch(const Batch& batch) {
  const auto T = static_cast<size_t>(batch.num_tokens());
  const auto B = static_cast<size_t>(batch.num_seqs());
  DS_CHECK(T > 0 && B > 0);
  DS_CHECK(batch.positions.size() == 3 * T && batch.slot_mapping.size() == T);
  DS_CHECK(batch.cu_seqlens.size() == B + 1 && batch.context_lens.size() == B &&
           batch.recurrent.size() == B);
  DS_CHECK(batch.max_blocks_per_seq > 0 &&
           batch.block_tables.size() == B * static_cast<size_t>(batch.max_blocks_per_seq));
  DS_CHECK(batch.cu_seqlens.front() == 0 && batch.cu_seqlens.back() == batch.num_tokens());
  for (size_t s = 0; s < B; ++s) {
    const int64_t length = int64_t{batch.cu_seqlens[s + 1]} - batch.cu_seqlens[s];
    DS_CHECK(length > 0 && batch.context_lens[s] >= 0);
    DS_CHECK(batch.context_lens[s] + length <= int64_t{batch.max_blocks_per_seq} * kBlockSize);
  }
  for (const int32_t row : batch.logits_rows) {
    DS_CHECK(row >= 0 && row < batch.num_tokens());
  }
}

int64_t BatchBuffers::bytes(const StepLimits& limits) {
  return capacity(limits) * int64_t{sizeof(int32_t)};
}

Result<BatchBuffers> BatchBuffers::allocate(Backend& backend, const StepLimits& limits) {
  Result<DeviceBuffer> device = DeviceBuffer::allocate(backend, static_cast<size_t>(bytes(limits)));
  if (!device) {
    return std::unexpected(std::move(device.error()));
  }
  BatchBuffers buffers;
  buffers.limits_ = limits;
  buffers.device_ = std::move(*device);
  buffers.staging_.resize(static_cast<size_t>(capacity(limits)));
  return buffers;
}

void BatchBuffers::upload(Backend& backend, const Batch& batch) {
  check_batch(batch);
  DS_CHECK(batch.num_tokens() <= limits_.max_tokens && batch.num_seqs() <= limits_.max_seqs);
  Packer packer(staging_, device_.as<int32_t>());
  input_ids_ = packer.add(batch.input_ids);
  view_.num_tokens = batch.num_tokens();
  view_.num_seqs = batch.num_seqs();
  view_.max_query_len = 0;
  for (size_t s = 0; s + 1 < batch.cu_seqlens.size(); ++s) {
    view_.max_query_len =
        std::max(view_.max_query_len, batch.cu_seqlens[s + 1] - batch.cu_seqlens[s]);
  }
  view_.max_blocks_per_seq = batch.max_blocks_per_seq;
  view_.cu_seqlens = packer.add(batch.cu_seqlens);
  view_.context_lens = packer.add(batch.context_lens);
  view_.positions = packer.add(batch.positions);
  view_.slot_mapping = packer.add(batch.slot_mapping);
  view_.block_tables = packer.add(batch.block_tables);
  view_.state_slots = packer.add(batch.state_slots);
  view_.recurrent = packer.add_bytes(batch.recurrent);
  backend.copy_to_device(device_.data(), staging_.data(), packer.used_bytes());
}

}  // namespace deltaserve
