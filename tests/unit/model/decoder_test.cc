// The model as the engine uses it: copies of states and blocks, logits rows, broken batches.
#include <gtest/gtest.h>

#include "base/check.h"
#include "model/batch_buffers.h"
#include "model/model.h"
#include "ops/reference/reference_backend.h"
#include "tensor/checkpoint.h"
#include "test_checkpoint.h"

namespace deltaserve {
namespace {

constexpr int64_t kBlocks = 6;
constexpr int64_t kSlots = 3;

class DecoderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const json::Object config = test::moe_config();
    test::write_checkpoint(directory_.path(), config, test::random_weights(config));
    checkpoint_ = Checkpoint::open(directory_.path()).value();
    model_ = load_model(*checkpoint_, *backend_).value();
    ASSERT_TRUE(
        model_->allocate({.max_tokens = 32, .max_seqs = 2, .max_model_len = 48}, kBlocks, kSlots));
  }

  // Rows [context, context + ids) of a sequence whose blocks start at `block`.
  static Batch one_sequence(const std::vector<int32_t>& ids, int32_t context, int32_t block,
                            int32_t slot) {
    const auto T = static_cast<int32_t>(ids.size());
    Batch batch;
    batch.input_ids = ids;
    for (int32_t i = 0; i < 3 * T; ++i) {
      batch.positions.push_back(context + i % T);
    }
    for (int32_t t = 0; t < T; ++t) {
      batch.slot_mapping.push_back(block * kBlockSize + context + t);
    }
    batch.cu_seqlens = {0, T};
    batch.context_lens = {context};
    batch.block_tables = {block, block + 1};
    batch.max_blocks_per_seq = 2;
    batch.state_slots = {slot};
    batch.recurrent = {0};
    batch.logits_rows = {T - 1};
    return batch;
  }

  std::vector<float> logits(const Batch& batch) {
    model_->forward(batch);
    const auto stride = static_cast<size_t>(model_->logits_stride());
    std::vector<float> padded(batch.logits_rows.size() * stride);
    backend_->copy_to_host(padded.data(), model_->logits(), padded.size() * sizeof(float));
    std::vector<float> rows;
    for (size_t r = 0; r < batch.logits_rows.size(); ++r) {
      const auto begin = padded.begin() + static_cast<std::ptrdiff_t>(r * stride);
      rows.insert(rows.end(), begin, begin + model_->config().vocab_size);
    }
    return rows;
  }

  test::TempDirectory directory_{"decoder"};
  std::unique_ptr<Backend> backend_ = make_reference_backend(DType::kF32);
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<Model> model_;
};

TEST_F(DecoderTest, LogitsRowsMayBeAnySubset) {
  Batch batch = one_sequence({1, 2, 3, 4, 5}, 0, 0, 0);
  batch.logits_rows = {0, 1, 2, 3, 4};
  EXPECT_THROW(model_->forward(batch), InvariantError);  // more than max_seqs
  batch.logits_rows = {1, 4};
  const std::vector<float> some = logits(batch);
  batch.logits_rows = {4};
  const std::vector<float> last = logits(batch);
  ASSERT_EQ(some.size(), 2 * last.size());
  EXPECT_TRUE(std::equal(last.begin(), last.end(), some.begin() + 96));
  batch.logits_rows = {};
  EXPECT_TRUE(logits(batch).empty());
}

// As many rows as the step has, but not these: several answers to one prompt.
TEST_F(DecoderTest, LogitsRowsMayRepeat) {
  Batch batch = one_sequence({1, 2}, 0, 0, 0);
  batch.logits_rows = {1};
  const std::vector<float> last = logits(batch);
  batch.logits_rows = {1, 1};
  const std::vector<float> twice = logits(batch);
  ASSERT_EQ(twice.size(), 2 * last.size());
  EXPECT_TRUE(std::equal(last.begin(), last.end(), twice.begin()));
  EXPECT_TRUE(std::equal(last.begin(), last.end(), twice.begin() + 96));
}

TEST_F(DecoderTest, ACopiedSequenceContinuesAlike) {
  logits(one_sequence({1, 2, 3, 4, 5}, 0, 0, 0));
  model_->copy_state(0, 2);
  model_->copy_block(0, 4);
  const std::vector<float> original = logits(one_sequence({6}, 5, 0, 0));
  const std::vector<float> copy = logits(one_sequence({6}, 5, 4, 2));
  EXPECT_EQ(copy, original);
  EXPECT_THROW(model_->copy_state(0, kSlots), InvariantError);
  EXPECT_THROW(model_->copy_block(-1, 0), InvariantError);
}

// A slot that another sequence has used needs no clearing.
TEST_F(DecoderTest, ANewSequenceIgnoresItsSlotsPast) {
  const std::vector<float> fresh = logits(one_sequence({7, 8}, 0, 0, 0));
  logits(one_sequence({1, 2, 3, 4, 5}, 0, 0, 0));
  EXPECT_EQ(logits(one_sequence({7, 8}, 0, 0, 0)), fresh);
}

TEST_F(DecoderTest, ReportsHiddenStatesInOrder) {
  std::vector<int32_t> indexes;
  Batch batch = one_sequence({1, 2, 3}, 0, 0, 0);
  model_->forward(batch, [&](int32_t index, const float*, int64_t T, int64_t H) {
    indexes.push_back(index);
    EXPECT_EQ(T, 3);
    EXPECT_EQ(H, 32);
  });
  EXPECT_EQ(indexes, (std::vector<int32_t>{0, 1, 2, 3, 4}));
}

TEST_F(DecoderTest, BrokenBatchesAreInvariants) {
  const Batch good = one_sequence({1, 2, 3}, 0, 0, 0);
  EXPECT_NO_THROW(check_batch(good));
  const auto broken = [&](auto&& change) {
    Batch batch = good;
    change(batch);
    EXPECT_THROW(model_->forward(batch), InvariantError);
  };
  broken([](Batch& b) { b.input_ids[0] = 96; });
  broken([](Batch& b) { b.input_ids[0] = -1; });
  broken([](Batch& b) { b.slot_mapping[0] = kBlocks * kBlockSize; });
  broken([](Batch& b) { b.state_slots[0] = kSlots; });
  broken([](Batch& b) { b.positions.pop_back(); });
  broken([](Batch& b) { b.cu_seqlens[1] = 2; });
  broken([](Batch& b) { b.context_lens[0] = -1; });
  broken([](Batch& b) { b.context_lens[0] = 30; });  // beyond its two blocks
  broken([](Batch& b) { b.block_tables.pop_back(); });
  broken([](Batch& b) { b.logits_rows = {3}; });
  broken([](Batch& b) { b = Batch{}; });
}

// One token of each of some sequences after 20 others.
Batch decode_batch(std::vector<int32_t> slots, int32_t max_blocks) {
  const auto B = static_cast<int32_t>(slots.size());
  Batch batch;
  batch.cu_seqlens = {0};
  for (int32_t s = 0; s < B; ++s) {
    batch.input_ids.push_back(1 + s);
    batch.slot_mapping.push_back(s * 2 * kBlockSize + 20);
    batch.cu_seqlens.push_back(s + 1);
    batch.context_lens.push_back(20);
    batch.recurrent.push_back(1);
    batch.logits_rows.push_back(s);
    for (int32_t i = 0; i < max_blocks; ++i) batch.block_tables.push_back(s * 2 + i % 2);
  }
  batch.positions.assign(static_cast<size_t>(3 * B), 20);
  batch.max_blocks_per_seq = max_blocks;
  batch.state_slots = std::move(slots);
  return batch;
}

TEST(BatchBuffersTest, AlikeAreOnlyPlainDecodes) {
  const auto backend = make_reference_backend(DType::kF32);
  auto buffers =
      BatchBuffers::allocate(*backend, {.max_tokens = 32, .max_seqs = 4, .max_model_len = 112});
  ASSERT_TRUE(buffers);
  const Batch batch = decode_batch({2, 0}, 3);
  buffers->upload(*backend, batch);
  EXPECT_TRUE(buffers->repeats());
  const BatchView& view = buffers->view();
  EXPECT_EQ(view.max_blocks_per_seq, 4);
  std::vector<int32_t> tables(8);
  backend->copy_to_host(tables.data(), view.block_tables, tables.size() * sizeof(int32_t));
  EXPECT_EQ(tables, (std::vector<int32_t>{0, 1, 0, 0, 2, 3, 2, 0}));

  Batch other = decode_batch({2, 0}, 5);
  buffers->upload(*backend, other);
  EXPECT_EQ(buffers->view().max_blocks_per_seq, 7) << "as long as the longest sequence";
  other.logits_rows = {1};
  buffers->upload(*backend, other);
  EXPECT_FALSE(buffers->repeats()) << "not every row wants its logits";
  EXPECT_EQ(buffers->view().max_blocks_per_seq, 5);
  other = batch;
  other.recurrent[1] = 0;
  buffers->upload(*backend, other);
  EXPECT_FALSE(buffers->repeats()) << "a prompt of one token";
  other = batch;
  other.snapshots = {{.phase = 0, .from = 0, .to = 1}};
  buffers->upload(*backend, other);
  EXPECT_TRUE(buffers->repeats());
  EXPECT_TRUE(buffers->phases().front().snapshots.empty()) << "they are copied behind the step";
}

TEST_F(DecoderTest, WorkspaceGrowsWithTheLimits) {
  const int64_t small =
      model_->workspace_bytes({.max_tokens = 1, .max_seqs = 1, .max_model_len = 16});
  const int64_t large =
      model_->workspace_bytes({.max_tokens = 64, .max_seqs = 1, .max_model_len = 16});
  EXPECT_GT(small, 0);
  EXPECT_GT(large, 60 * 32 * 4 * 3);
  EXPECT_GT(large, small);
}

}  // namespace
}  // namespace deltaserve
