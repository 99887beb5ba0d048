// write_kv and attention: against the reference, and the promise that a row's bits depend on its
// sequence alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {
namespace {

struct AttentionShape {
  int32_t heads;
  int32_t kv_heads;
  int32_t head_dim;
};

constexpr AttentionShape kShapes[] = {{4, 2, 32}, {8, 2, 256}, {6, 1, 128}, {24, 4, 256}};

// The KV cache of one layer, and rows of q, gate, k and v that depend on (sequence, position) only.
class AttentionRun {
 public:
  AttentionRun(Backend& backend, const AttentionShape& shape, int32_t blocks)
      : backend_(backend), shape_(shape) {
    const CacheShape cache{.num_kv_heads = shape.kv_heads, .head_dim = shape.head_dim};
    const auto bytes = static_cast<size_t>(backend.kv_block_bytes(cache) * blocks);
    // Blocks hold what an earlier request left: here the worst, NaN in either dtype.
    cache_ = std::make_unique<DeviceArray<uint8_t>>(backend, std::vector<uint8_t>(bytes, 0xff));
  }

  // Writes the k and v of these rows.
  void write(const std::vector<SequenceRows>& sequences) {
    const DType x = backend_.compute_dtype();
    const int64_t kv_stride = int64_t{shape_.kv_heads} * shape_.head_dim;
    const DeviceTensor k(backend_, x, rows(sequences, kv_stride, 2, 1.5F));
    const DeviceTensor v(backend_, x, rows(sequences, kv_stride, 3, 1.0F));
    const DeviceBatch batch(backend_, sequences);
    backend_.write_kv({.batch = batch.view(),
                       .num_kv_heads = shape_.kv_heads,
                       .head_dim = shape_.head_dim,
                       .k = k.data(),
                       .v = v.data(),
                       .kv_stride = kv_stride,
                       .kv_cache = cache_->data()});
  }

  // Writes k and v and attends; out [T, heads * head_dim].
  std::vector<float> step(const std::vector<SequenceRows>& sequences) {
    write(sequences);
    const DType x = backend_.compute_dtype();
    const int64_t q_stride = int64_t{shape_.heads} * shape_.head_dim * 2;
    const int64_t out_stride = int64_t{shape_.heads} * shape_.head_dim;
    const DeviceTensor q(backend_, x, rows(sequences, q_stride, 1, 1.5F));
    const DeviceBatch batch(backend_, sequences);
    const auto tokens = static_cast<size_t>(batch.view()->num_tokens);
    DeviceTensor out(backend_, x, tokens * static_cast<size_t>(out_stride));
    const auto gate_offset = static_cast<size_t>(shape_.head_dim * dtype_size(x));
    backend_.attention({.batch = batch.view(),
                        .num_heads = shape_.heads,
                        .num_kv_heads = shape_.kv_heads,
                        .head_dim = shape_.head_dim,
                        .scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim)),
                        .q = q.data(),
                        .gate = static_cast<std::byte*>(q.data()) + gate_offset,
                        .q_stride = q_stride,
                        .q_head_stride = int64_t{shape_.head_dim} * 2,
                        .kv_cache = cache_->data(),
                        .out = out.data(),
                        .out_stride = out_stride});
    return out.values();
  }

 private:
  static std::vector<float> rows(const std::vector<SequenceRows>& sequences, int64_t width,
                                 uint32_t salt, float scale) {
    std::vector<float> all;
    for (const SequenceRows& sequence : sequences) {
      for (int32_t row = 0; row < sequence.rows; ++row) {
        const auto position = static_cast<uint32_t>(sequence.context_len + row);
        const uint32_t seed = (static_cast<uint32_t>(sequence.slot) * 100003 + position) * 8 + salt;
        const auto values = random_values(static_cast<size_t>(width), seed, scale);
        all.insert(all.end(), values.begin(), values.end());
      }
    }
    return all;
  }

  Backend& backend_;
  AttentionShape shape_;
  std::unique_ptr<DeviceArray<uint8_t>> cache_;
};

// The context of every sequence as a step of its own.
std::vector<SequenceRows> contexts_of(std::vector<SequenceRows> sequences) {
  for (SequenceRows& sequence : sequences) {
    sequence.rows = sequence.context_len;
    sequence.context_len = 0;
  }
  std::erase_if(sequences, [](const SequenceRows& sequence) { return sequence.rows == 0; });
  return sequences;
}

class AttentionOp : public testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override { backend_ = make_case_backend(GetParam()); }
  std::unique_ptr<Backend> backend_;
};

TEST_P(AttentionOp, MatchesReference) {
  const auto reference = make_reference_backend(GetParam().x_dtype);
  for (const AttentionShape& shape : kShapes) {
    // Decodes (one of them over two splits), fresh and continued prefills, a verify of 4 tokens.
    const auto sequences =
        make_sequences({{530, 1}, {0, 1}, {0, 23}, {37, 1}, {505, 40}, {15, 4}, {0, 16}}, 5);
    AttentionRun actual(*backend_, shape, count_blocks(sequences));
    AttentionRun expected(*reference, shape, count_blocks(sequences));
    actual.write(contexts_of(sequences));
    expected.write(contexts_of(sequences));
    // Scores reach 10, so their rounding moves a weight by some 1e-6 of itself. Tensor cores take
    // the weights themselves as bfloat16, each off by up to 2^-9: of a mean of values up to 3, a
    // fraction of that.
    const bool rounds_weights = backend_->name().starts_with("cuda") &&
                                GetParam().x_dtype == DType::kBF16 && shape.head_dim == 256;
    expect_close(actual.step(sequences), expected.step(sequences), x_tolerance(GetParam().x_dtype),
                 rounds_weights ? std::ldexp(1.0, -8) : 1e-5,
                 "head_dim " + std::to_string(shape.head_dim));
  }
}

// What the CPU backend promises beyond closeness: see docs/architecture.md, "Same request, same
// bits".
class AttentionBits : public AttentionOp {};

// All rows of one sequence of `tokens`, run in steps that end at `cuts`.
std::vector<float> run_in_steps(Backend& backend, const AttentionShape& shape, int32_t tokens,
                                const std::vector<int32_t>& cuts, uint32_t seed) {
  auto sequence = make_sequences({{0, tokens}}, seed)[0];
  AttentionRun run(backend, shape, count_blocks({sequence}));
  std::vector<float> all;
  int32_t done = 0;
  for (const int32_t cut : cuts) {
    sequence.context_len = done;
    sequence.rows = cut - done;
    const auto out = run.step({sequence});
    all.insert(all.end(), out.begin(), out.end());
    done = cut;
  }
  return all;
}

TEST_P(AttentionBits, SameBitsForAnyCutAndAnyBlocks) {
  constexpr int32_t kTokens = 1100;
  for (const AttentionShape& shape : {AttentionShape{4, 2, 32}, AttentionShape{6, 1, 128}}) {
    const auto whole = run_in_steps(*backend_, shape, kTokens, {kTokens}, 1);
    expect_same_bits(run_in_steps(*backend_, shape, kTokens, {kTokens}, 2), whole, "other blocks");
    expect_same_bits(run_in_steps(*backend_, shape, kTokens, {513, 520, 800, kTokens}, 3), whole,
                     "in four chunks");
    std::vector<int32_t> decode = {1020};
    while (decode.back() < kTokens) {
      decode.push_back(decode.back() + 1);
    }
    expect_same_bits(run_in_steps(*backend_, shape, kTokens, decode, 4), whole,
                     "last rows decoded");
  }
}

TEST_P(AttentionBits, SameBitsInAnyBatchAndForAnyThreads) {
  constexpr AttentionShape kShape = {8, 2, 64};
  const auto sequences = make_sequences({{700, 1}, {0, 90}, {31, 2}, {512, 1}, {100, 33}}, 9);
  BackendCase one_thread = GetParam();
  one_thread.threads = 1;
  const auto single = make_case_backend(one_thread);
  AttentionRun together(*backend_, kShape, count_blocks(sequences));
  together.write(contexts_of(sequences));
  const auto all = together.step(sequences);
  auto row = all.begin();
  for (const SequenceRows& sequence : sequences) {
    AttentionRun alone(*single, kShape, count_blocks(sequences));
    if (sequence.context_len > 0) {
      alone.write(contexts_of({sequence}));
    }
    const auto out = alone.step({sequence});
    const auto end = row + static_cast<ptrdiff_t>(out.size());
    expect_same_bits(out, {row, end}, "sequence in slot " + std::to_string(sequence.slot));
    row = end;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionOp, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });
INSTANTIATE_TEST_SUITE_P(All, AttentionBits, testing::ValuesIn(bit_exact_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
