// Packs a Batch into one array of int32 with every part on a 64-byte border.
#include "model/batch_buffers.h"

#include <algorithm>
#include <bit>
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
  return padded(limits.max_tokens) * 3 + padded(3 * limits.max_tokens) +
         padded(limits.max_seqs + 1) + padded(2 * limits.max_seqs) + padded(limits.max_seqs) * 3 +
         padded(limits.max_seqs * blocks);
}

int32_t count_chunked(std::span<const uint8_t> recurrent) {
  return static_cast<int32_t>(std::ranges::count(recurrent, 0));
}

// Appends parts to the staging area and says where they lie on the device.
class Packer {
 public:
  Packer(std::vector<int32_t>& staging, int32_t* device) : staging_(staging), device_(device) {}

  int32_t* add(std::span<const int32_t> values) {
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

bool is_plain_decode(const Batch& batch) {
  const auto B = static_cast<size_t>(batch.num_seqs());
  bool plain = batch.num_tokens() == batch.num_seqs() && batch.phase_ends.size() <= 1 &&
               batch.logits_rows.size() == B &&
               (batch.snapshots.empty() || batch.snapshots.back().phase == 0);
  for (size_t s = 0; s < B && plain; ++s) {
    plain = batch.recurrent[s] == 1 && batch.logits_rows[s] == static_cast<int32_t>(s);
  }
  return plain;
}

}  // namespace

void check_batch(const Batch& batch) {
  const auto T = static_cast<size_t>(batch.num_tokens());
  const auto B = static_cast<size_t>(batch.num_seqs());
  DS_CHECK(T > 0 && B > 0);
  DS_CHECK(batch.positions.size() == 3 * T && batch.slot_mapping.size() == T);
  DS_CHECK(batch.drawn_rows.empty() || batch.drawn_rows.size() == T);
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
  DS_CHECK(std::ranges::is_sorted(batch.phase_ends) &&
           std::ranges::is_sorted(batch.snapshots, {}, &StateCopy::phase));
  DS_CHECK(batch.phase_ends.empty() || batch.phase_ends.back() == batch.num_seqs());
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

// All of a phase's view but cu_seqlens, which are staged one phase after the other.
void BatchBuffers::view_phases(const Batch& batch) {
  phases_.clear();
  phase_seqlens_.clear();
  const bool whole = batch.phase_ends.size() <= 1;
  const int32_t all = batch.num_seqs();
  const std::span<const int32_t> ends = whole ? std::span(&all, 1) : std::span(batch.phase_ends);
  std::span<const StateCopy> copies = repeats_ ? std::span<const StateCopy>() : batch.snapshots;
  int32_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    PhaseView& phase = phases_.emplace_back();
    phase.view = view_;
    phase.view.num_seqs = ends[i] - begin;
    phase.view.max_query_len = 0;
    phase.first_row = batch.cu_seqlens[static_cast<size_t>(begin)];
    phase_seqlens_.push_back(0);
    for (int32_t s = begin; s < ends[i]; ++s) {
      const int32_t end = batch.cu_seqlens[static_cast<size_t>(s) + 1];
      const auto row = end - static_cast<int32_t>(phase.first_row);
      phase.view.max_query_len = std::max(phase.view.max_query_len, row - phase_seqlens_.back());
      phase_seqlens_.push_back(row);
    }
    phase.view.num_chunked = count_chunked(
        std::span(batch.recurrent)
            .subspan(static_cast<size_t>(begin), static_cast<size_t>(ends[i] - begin)));
    phase.view.num_tokens = phase_seqlens_.back();
    phase.view.context_lens += begin;
    phase.view.positions = nullptr;  // M-RoPE is no business of what carries state
    phase.view.slot_mapping += phase.first_row;
    phase.view.block_tables += int64_t{begin} * view_.max_blocks_per_seq;
    phase.view.state_slots += begin;
    phase.view.recurrent += begin;
    const auto due = std::ranges::find_if(
        copies, [i](const StateCopy& copy) { return static_cast<size_t>(copy.phase) > i; });
    const auto count = static_cast<size_t>(due - copies.begin());
    phase.snapshots = copies.first(count);
    copies = copies.subspan(count);
    begin = ends[i];
  }
  DS_CHECK(copies.empty(), "a snapshot of a phase that does not exist");
}

// The block tables of a plain decode, rows padded with block 0, which nobody reads.
std::span<const int32_t> BatchBuffers::padded_tables(const Batch& batch) {
  const auto most = static_cast<int32_t>((limits_.max_model_len + kBlockSize - 1) / kBlockSize);
  const auto width = static_cast<uint32_t>(batch.max_blocks_per_seq);
  view_.max_blocks_per_seq = std::max(batch.max_blocks_per_seq,
                                      std::min(most, static_cast<int32_t>(std::bit_ceil(width))));
  const auto row = static_cast<size_t>(view_.max_blocks_per_seq);
  tables_.assign(static_cast<size_t>(batch.num_seqs()) * row, 0);
  for (size_t s = 0; s < static_cast<size_t>(batch.num_seqs()); ++s) {
    std::copy_n(batch.block_tables.begin() + static_cast<ptrdiff_t>(s * width), width,
                tables_.begin() + static_cast<ptrdiff_t>(s * row));
  }
  return tables_;
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
  repeats_ = is_plain_decode(batch);
  view_.max_blocks_per_seq = batch.max_blocks_per_seq;
  view_.cu_seqlens = packer.add(batch.cu_seqlens);
  view_.context_lens = packer.add(batch.context_lens);
  view_.positions = packer.add(batch.positions);
  view_.slot_mapping = packer.add(batch.slot_mapping);
  view_.block_tables =
      packer.add(repeats_ ? padded_tables(batch) : std::span<const int32_t>(batch.block_tables));
  view_.state_slots = packer.add(batch.state_slots);
  view_.recurrent = packer.add_bytes(batch.recurrent);
  view_.num_chunked = count_chunked(batch.recurrent);
  view_phases(batch);
  const int32_t* seqlens = packer.add(phase_seqlens_);
  for (PhaseView& phase : phases_) {
    phase.view.cu_seqlens = seqlens;
    seqlens += phase.view.num_seqs + 1;
  }
  drawn_ids_ = {};
  if (!batch.drawn_rows.empty()) {
    drawn_ids_ = {.T = batch.num_tokens(), .rows = packer.add(batch.drawn_rows), .ids = input_ids_};
  }
  backend.copy_to_device(device_.data(), staging_.data(), packer.used_bytes());
}

}  // namespace deltaserve
