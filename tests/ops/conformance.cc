#include "conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace deltaserve {

DeviceTensor::DeviceTensor(Backend& backend, DType dtype, const std::vector<float>& values)
    : DeviceTensor(backend, dtype, values.size()) {
  if (dtype == DType::kF32) {
    backend.copy_to_device(data_, values.data(), count_ * sizeof(float));
    return;
  }
  std::vector<BFloat16> rounded;
  for (const float value : values) {
    rounded.push_back(to_bfloat16(value));
  }
  backend.copy_to_device(data_, rounded.data(), count_ * sizeof(BFloat16));
}

DeviceTensor::DeviceTensor(Backend& backend, DType dtype, size_t count)
    : backend_(backend), dtype_(dtype), count_(count) {
  data_ = backend.allocate((count + 1) * static_cast<size_t>(dtype_size(dtype))).value();
}

DeviceTensor::~DeviceTensor() {
  backend_.release(data_);
}

std::vector<float> DeviceTensor::values() const {
  std::vector<float> out(count_);
  if (dtype_ == DType::kF32) {
    backend_.copy_to_host(out.data(), data_, count_ * sizeof(float));
    return out;
  }
  std::vector<BFloat16> raw(count_);
  backend_.copy_to_host(raw.data(), data_, count_ * sizeof(BFloat16));
  std::transform(raw.begin(), raw.end(), out.begin(), [](BFloat16 x) { return to_float(x); });
  return out;
}

std::vector<SequenceRows> make_sequences(
    const std::vector<std::pair<int32_t, int32_t>>& context_rows, uint32_t seed) {
  int32_t total = 0;
  for (const auto& [context, rows] : context_rows) {
    total += (context + rows + kBlockSize - 1) / kBlockSize;
  }
  std::vector<int32_t> ids(static_cast<size_t>(total));
  for (int32_t i = 0; i < total; ++i) {
    ids[static_cast<size_t>(i)] = i;
  }
  std::mt19937 random(seed);
  std::shuffle(ids.begin(), ids.end(), random);
  std::vector<SequenceRows> sequences;
  auto next = ids.begin();
  for (const auto& [context, rows] : context_rows) {
    const auto end = next + (context + rows + kBlockSize - 1) / kBlockSize;
    sequences.push_back({.context_len = context,
                         .rows = rows,
                         .slot = static_cast<int32_t>(sequences.size()),
                         .blocks = std::vector<int32_t>(next, end),
                         .recurrent = rows == 1 && context > 0});
    next = end;
  }
  return sequences;
}

int32_t count_blocks(const std::vector<SequenceRows>& sequences) {
  int32_t count = 0;
  for (const SequenceRows& sequence : sequences) {
    for (const int32_t block : sequence.blocks) {
      count = std::max(count, block + 1);
    }
  }
  return count;
}

DeviceBatch::DeviceBatch(Backend& backend, const std::vector<SequenceRows>& sequences) {
  std::vector<int32_t> cu_seqlens = {0};
  std::vector<int32_t> context_lens;
  std::vector<int32_t> positions;
  std::vector<int32_t> slot_mapping;
  std::vector<int32_t> state_slots;
  std::vector<uint8_t> recurrent;
  size_t max_blocks = 0;
  for (const SequenceRows& sequence : sequences) {
    cu_seqlens.push_back(cu_seqlens.back() + sequence.rows);
    context_lens.push_back(sequence.context_len);
    state_slots.push_back(sequence.slot);
    recurrent.push_back(sequence.recurrent ? 1 : 0);
    max_blocks = std::max(max_blocks, sequence.blocks.size());
    view_.max_query_len = std::max(view_.max_query_len, sequence.rows);
    for (int32_t row = 0; row < sequence.rows; ++row) {
      const int32_t position = sequence.context_len + row;
      positions.push_back(position);
      slot_mapping.push_back(sequence.blocks[static_cast<size_t>(position / kBlockSize)] *
                                 kBlockSize +
                             position % kBlockSize);
    }
  }
  std::vector<int32_t> block_tables;
  for (const SequenceRows& sequence : sequences) {
    block_tables.insert(block_tables.end(), sequence.blocks.begin(), sequence.blocks.end());
    // An id far outside: a kernel that reads past a sequence's blocks crashes instead of passing.
    block_tables.insert(block_tables.end(), max_blocks - sequence.blocks.size(), 1 << 28);
  }
  std::vector<int32_t> all_positions;
  for (int axis = 0; axis < 3; ++axis) {
    all_positions.insert(all_positions.end(), positions.begin(), positions.end());
  }
  const auto upload = [&](const std::vector<int32_t>& values) {
    arrays_.push_back(std::make_unique<DeviceArray<int32_t>>(backend, values));
    return arrays_.back()->data();
  };
  view_.num_tokens = cu_seqlens.back();
  view_.num_seqs = static_cast<int32_t>(sequences.size());
  view_.max_blocks_per_seq = static_cast<int32_t>(max_blocks);
  view_.cu_seqlens = upload(cu_seqlens);
  view_.context_lens = upload(context_lens);
  view_.positions = upload(all_positions);
  view_.slot_mapping = upload(slot_mapping);
  view_.block_tables = upload(block_tables);
  view_.state_slots = upload(state_slots);
  recurrent_ = std::make_unique<DeviceArray<uint8_t>>(backend, recurrent);
  view_.recurrent = recurrent_->data();
}

std::vector<float> random_values(size_t count, uint32_t seed, float scale) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
  }
  return values;
}

void expect_close(const std::vector<float>& actual, const std::vector<float>& expected,
                  double relative, double absolute, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double worst = 0.0;
  size_t worst_at = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) != std::isnan(expected[i])) {
      ADD_FAILURE() << what << ": element " << i << " is " << actual[i] << ", expected "
                    << expected[i];
      return;
    }
    const double allowed = absolute + relative * std::abs(static_cast<double>(expected[i]));
    const double excess = std::abs(static_cast<double>(actual[i]) - expected[i]) / allowed;
    if (excess > worst) {
      worst = excess;
      worst_at = i;
    }
  }
  if (worst > 1.0) {
    ADD_FAILURE() << what << ": element " << worst_at << " is " << actual[worst_at] << ", expected "
                  << expected[worst_at] << " (" << worst << " times the tolerance)";
  }
}

void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected,
                      const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  size_t different = 0;
  size_t first = 0;
  for (size_t i = actual.size(); i-- > 0;) {
    if (std::bit_cast<uint32_t>(actual[i]) != std::bit_cast<uint32_t>(expected[i])) {
      ++different;
      first = i;
    }
  }
  if (different != 0) {
    ADD_FAILURE() << what << ": " << different << " of " << actual.size()
                  << " values differ, first element " << first << ": " << actual[first] << " and "
                  << expected[first];
  }
}

double x_tolerance(DType x_dtype) {
  return x_dtype == DType::kF32 ? std::ldexp(1.0, -19) : std::ldexp(1.0, -7);
}

}  // namespace deltaserve
