// Norms, rotation, KV write and attention of a decode step in one launch, with the bits of the
// separate ops.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "conformance.h"
#include "device_util.h"

namespace deltaserve {
namespace {

constexpr int32_t kHeadDim = 256;
constexpr int32_t kRotaryDim = 64;

struct Heads {
  int32_t heads;
  int32_t kv_heads;
};

class RopeAttentionTest : public testing::TestWithParam<BackendCase> {
 protected:
  std::unique_ptr<Backend> backend_ = make_case_backend(GetParam());
};

// A layer whose cache holds the contexts of sequences, and a decode step of them; rows depend on
// the sequence's slot and position only.
class DecodeStep {
 public:
  DecodeStep(Backend& backend, Heads heads, const std::vector<SequenceRows>& sequences)
      : backend_(backend),
        heads_(heads),
        batch_(backend, decoded(sequences)),
        view_(*batch_.view()),
        x_(backend.compute_dtype()),
        q_weight_(backend, DType::kF32, random_values(kHeadDim, 3, 0.3F)),
        k_weight_(backend, DType::kF32, random_values(kHeadDim, 4, 0.3F)),
        inv_freq_(backend, DType::kF32, frequencies()),
        axes_(backend, std::vector<uint8_t>(kRotaryDim / 2, 0)) {
    view_.num_chunked = 0;
    const auto bytes = static_cast<size_t>(
        backend.kv_block_bytes({.num_kv_heads = heads.kv_heads, .head_dim = kHeadDim}) *
        count_blocks(sequences));
    // Places that no token has taken hold NaN.
    cache_ = std::make_unique<DeviceArray<uint8_t>>(backend, std::vector<uint8_t>(bytes, 0xff));
    write_contexts(sequences);
    std::vector<float> rows;
    for (const SequenceRows& sequence : sequences) {
      const auto row = random_values(static_cast<size_t>(stride()),
                                     static_cast<uint32_t>(7000 + sequence.slot), 1.5F);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    rows_ = std::make_unique<DeviceTensor>(backend, x_, rows);
    out_ = std::make_unique<DeviceTensor>(backend, x_,
                                          sequences.size() * static_cast<size_t>(out_stride()));
  }

  // Returns whether the backend has the fused form.
  bool run(bool together) {
    if (together) {
      return backend_.rope_attention(rotation(), writing(), attention());
    }
    backend_.qk_norm_rope(rotation());
    backend_.write_kv(writing());
    backend_.attention(attention());
    return true;
  }

  std::vector<float> out() const { return out_->values(); }
  std::vector<uint8_t> cache() const { return cache_->values(); }

 private:
  int64_t q_width() const { return int64_t{2} * heads_.heads * kHeadDim; }
  int64_t kv_width() const { return int64_t{heads_.kv_heads} * kHeadDim; }
  int64_t stride() const { return q_width() + 2 * kv_width(); }
  int64_t out_stride() const { return int64_t{heads_.heads} * kHeadDim; }
  std::byte* at(int64_t element) const {
    return static_cast<std::byte*>(rows_->data()) + element * dtype_size(x_);
  }

  static std::vector<SequenceRows> decoded(std::vector<SequenceRows> sequences) {
    for (SequenceRows& sequence : sequences) {
      sequence.recurrent = true;
    }
    return sequences;
  }

  static std::vector<float> frequencies() {
    std::vector<float> all;
    for (int32_t j = 0; j < kRotaryDim / 2; ++j) {
      all.push_back(std::pow(1e7F, -2.0F * static_cast<float>(j) / kRotaryDim));
    }
    return all;
  }

  void write_contexts(std::vector<SequenceRows> sequences) {
    std::vector<float> k;
    std::vector<float> v;
    for (SequenceRows& sequence : sequences) {
      const auto count = static_cast<size_t>(sequence.context_len * kv_width());
      const auto seed = static_cast<uint32_t>(sequence.slot * 2);
      const auto k_rows = random_values(count, 100 + seed, 1.5F);
      const auto v_rows = random_values(count, 101 + seed, 1.0F);
      k.insert(k.end(), k_rows.begin(), k_rows.end());
      v.insert(v.end(), v_rows.begin(), v_rows.end());
      sequence.rows = sequence.context_len;
      sequence.context_len = 0;
    }
    std::erase_if(sequences, [](const SequenceRows& sequence) { return sequence.rows == 0; });
    if (sequences.empty()) {
      return;
    }
    const DeviceTensor device_k(backend_, x_, k);
    const DeviceTensor device_v(backend_, x_, v);
    const DeviceBatch batch(backend_, sequences);
    backend_.write_kv({.batch = batch.view(),
                       .num_kv_heads = heads_.kv_heads,
                       .head_dim = kHeadDim,
                       .k = device_k.data(),
                       .v = device_v.data(),
                       .kv_stride = kv_width(),
                       .kv_cache = cache_->data()});
  }

  QkNormRopeArgs rotation() const {
    return {.batch = &view_,
            .num_heads = heads_.heads,
            .num_kv_heads = heads_.kv_heads,
            .head_dim = kHeadDim,
            .rotary_dim = kRotaryDim,
            .q = rows_->data(),
            .q_stride = stride(),
            .q_head_stride = int64_t{2} * kHeadDim,
            .k = at(q_width()),
            .k_stride = stride(),
            .q_weight = q_weight_.floats(),
            .k_weight = k_weight_.floats(),
            .inv_freq = inv_freq_.floats(),
            .mrope_axis = axes_.data()};
  }
  WriteKvArgs writing() const {
    return {.batch = &view_,
            .num_kv_heads = heads_.kv_heads,
            .head_dim = kHeadDim,
            .k = at(q_width()),
            .v = at(q_width() + kv_width()),
            .kv_stride = stride(),
            .kv_cache = cache_->data()};
  }
  AttentionArgs attention() const {
    return {.batch = &view_,
            .num_heads = heads_.heads,
            .num_kv_heads = heads_.kv_heads,
            .head_dim = kHeadDim,
            .scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim)),
            .q = rows_->data(),
            .gate = at(kHeadDim),
            .q_stride = stride(),
            .q_head_stride = int64_t{2} * kHeadDim,
            .kv_cache = cache_->data(),
            .out = out_->data(),
            .out_stride = out_stride()};
  }

  Backend& backend_;
  Heads heads_;
  DeviceBatch batch_;
  BatchView view_;
  DType x_;
  DeviceTensor q_weight_;
  DeviceTensor k_weight_;
  DeviceTensor inv_freq_;
  DeviceArray<uint8_t> axes_;
  std::unique_ptr<DeviceArray<uint8_t>> cache_;
  std::unique_ptr<DeviceTensor> rows_;
  std::unique_ptr<DeviceTensor> out_;
};

// By backend and heads.
class RopeAttentionRow : public testing::TestWithParam<std::tuple<BackendCase, Heads>> {};

// Contexts that end at the borders of blocks and of splits, of one split or several a block.
TEST_P(RopeAttentionRow, HasTheBitsOfTheSeparateOps) {
  const auto& [backend_case, heads] = GetParam();
  const auto backend = make_case_backend(backend_case);
  for (const int32_t context : {0, 1, 15, 16, 126, 127, 128, 700, 1024, 2047, 2048, 2500, 5000}) {
    const auto sequences = make_sequences({{context, 1}}, 5);
    DecodeStep together(*backend, heads, sequences);
    // Nothing has happened where there is no fused form.
    if (!together.run(true)) {
      EXPECT_FALSE(has_hopper_kernels(backend_case));
      EXPECT_EQ(together.cache(), DecodeStep(*backend, heads, sequences).cache());
      return;
    }
    DecodeStep apart(*backend, heads, sequences);
    apart.run(false);
    const std::string what = "context " + std::to_string(context);
    expect_same_bits(together.out(), apart.out(), what);
    EXPECT_EQ(together.cache(), apart.cache()) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RopeAttentionRow,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::Values(Heads{24, 4}, Heads{16, 2}, Heads{4, 4},
                                                          Heads{8, 1})),
                         [](const auto& test) {
                           const Heads& heads = std::get<1>(test.param);
                           return case_name(std::get<0>(test.param)) + "_" +
                                  std::to_string(heads.heads) + "_" +
                                  std::to_string(heads.kv_heads);
                         });

TEST_P(RopeAttentionTest, HasTheSameBitsInABatch) {
  const Heads heads{16, 2};
  const auto sequences = make_sequences({{1024, 1}, {3, 1}, {2300, 1}, {511, 1}}, 5);
  for (size_t count = 2; count <= sequences.size(); ++count) {
    const std::vector<SequenceRows> some(sequences.begin(),
                                         sequences.begin() + static_cast<ptrdiff_t>(count));
    DecodeStep together(*backend_, heads, some);
    if (!together.run(true)) {
      break;
    }
    DecodeStep apart(*backend_, heads, some);
    apart.run(false);
    expect_same_bits(together.out(), apart.out(), std::to_string(count) + " sequences");
    EXPECT_EQ(together.cache(), apart.cache());
  }
}

INSTANTIATE_TEST_SUITE_P(All, RopeAttentionTest, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
