// The tree of chunks: what is found, what is shared, and what is given up first.
#include "cache/prefix_pin.h"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <random>

#include "base/check.h"
#include "cache/block_table.h"

namespace deltaserve {
namespace {

// A prefix as a sequence has it: chunk i is all `tokens[i]`.
struct Text {
  std::vector<int32_t> tokens = {};
  std::vector<ChunkCode> codes = {};  // 0 where it ends
  std::string salt = {};
  std::vector<uint64_t> hashes = {};  // forced, to make collisions
};

class PrefixIndexTest : public testing::Test {
 protected:
  void init(int32_t num_blocks, int32_t num_snapshots) {
    blocks_ = std::make_unique<BlockPool>(num_blocks);
    snapshots_ = std::make_unique<StatePool>(num_snapshots, 3);
    index_ = std::make_unique<PrefixIndex>(*blocks_, *snapshots_, 7);
  }

  ChunkReader reader(const Text& text) const {
    return [&text](int64_t chunk, ChunkKey& key) {
      const auto i = static_cast<size_t>(chunk);
      key.tokens.fill(text.tokens[i]);
      key.code = i < text.codes.size() ? text.codes[i] : ChunkCode{0};
      key.content = {};
      if (i < text.hashes.size()) {
        key.hash = {.low = text.hashes[i], .high = 0};
        return;
      }
      Hash128 hash = hash_salt(text.salt, 7);
      for (size_t k = 0; k <= i; ++k) {
        std::array<int32_t, kBlockSize> block{};
        block.fill(text.tokens[k]);
        for (int b = 0; b < kBlocksPerChunk; ++b) hash = hash_block(hash, block, {});
      }
      key.hash = hash;
    };
  }

  PrefixMatch find(const Text& text, ChunkMatch match = ChunkMatch::kAny) const {
    return index_->find(
        {.salt = text.salt, .num_chunks = static_cast<int64_t>(text.tokens.size()), .match = match},
        reader(text));
  }

  // Puts a text in as a sequence that computed it would; returns how many chunks the index took.
  int64_t put(const Text& text, BlockTable& table, PrefixPin& pin) {
    pin = PrefixPin(*index_, index_->root(text.salt));
    EXPECT_TRUE(table.reserve_tokens(static_cast<int64_t>(text.tokens.size()) * kChunkSize));
    for (size_t i = 0; i < text.tokens.size(); ++i) {
      ChunkKey key;
      reader(text)(static_cast<int64_t>(i), key);
      const std::span<const int32_t, kBlocksPerChunk> blocks(
          table.blocks().data() + i * kBlocksPerChunk, kBlocksPerChunk);
      PrefixNode* const node = index_->extend(*pin.node(), key, blocks);
      if (node == nullptr) return static_cast<int64_t>(i);
      pin = PrefixPin(*index_, *node);
    }
    return static_cast<int64_t>(text.tokens.size());
  }

  // The same for a sequence that ends at once; snapshots at these depths.
  void put(const Text& text, const std::vector<int64_t>& snapshots = {}) {
    BlockTable table(*blocks_);
    PrefixPin pin;
    EXPECT_EQ(put(text, table, pin), static_cast<int64_t>(text.tokens.size()));
    for (const int64_t depth : snapshots) {
      index_->attach_snapshot(prefix_ancestor(*pin.node(), depth),
                              index_->reserve_snapshot().value());
    }
  }

  std::unique_ptr<BlockPool> blocks_;
  std::unique_ptr<StatePool> snapshots_;
  std::unique_ptr<PrefixIndex> index_;
};

TEST_F(PrefixIndexTest, FindsTheDeepestSnapshotOnTheWay) {
  init(64, 8);
  EXPECT_EQ(find({.tokens = {1}}).num_known_tokens, 0);
  put({.tokens = {1, 2, 3, 4}}, {2});
  put({.tokens = {1, 2, 9}}, {1, 3});
  const PrefixMatch match = find({.tokens = {1, 2, 3, 5}});
  ASSERT_NE(match.node, nullptr);
  EXPECT_EQ(match.node->num_tokens(), 128);
  EXPECT_EQ(match.num_known_tokens, 192);
  EXPECT_EQ(find({.tokens = {1, 2, 9, 9}}).node->num_tokens(), 192);
  EXPECT_EQ(find({.tokens = {1}}).node->num_tokens(), 64);
  EXPECT_EQ(find({.tokens = {2, 2}}).node, nullptr);
}

TEST_F(PrefixIndexTest, SharesEqualPrefixesAndReturnsTheirBlocks) {
  init(64, 8);
  BlockTable a(*blocks_);
  PrefixPin pin_a;
  ASSERT_EQ(put({.tokens = {1, 2, 3}}, a, pin_a), 3);
  {
    BlockTable b(*blocks_);
    PrefixPin pin_b;
    ASSERT_EQ(put({.tokens = {1, 2, 4}}, b, pin_b), 3);
    EXPECT_EQ(index_->stats().num_nodes, 4);
    EXPECT_EQ(pin_b.node()->parent, pin_a.node()->parent);
    EXPECT_EQ(std::vector(a.blocks().begin(), a.blocks().end()), prefix_blocks(*pin_a.node()));
  }
  EXPECT_EQ(blocks_->num_free(), 64 - 16);
  EXPECT_EQ(blocks_->num_reclaimable(), 4) << "the last chunk of b";
  pin_a.reset();
  a.clear();
  EXPECT_EQ(blocks_->num_reclaimable(), 16);
  index_->clear();
  EXPECT_EQ(blocks_->num_free(), 64);
}

TEST_F(PrefixIndexTest, KeepsSaltsApart) {
  init(64, 8);
  put({.tokens = {1, 2}, .salt = "a"}, {2});
  EXPECT_EQ(find({.tokens = {1, 2}}).node, nullptr);
  EXPECT_EQ(find({.tokens = {1, 2}, .salt = "b"}).num_known_tokens, 0);
  EXPECT_NE(find({.tokens = {1, 2}, .salt = "a"}).node, nullptr);
}

TEST_F(PrefixIndexTest, ACollisionOfHashesFindsNothing) {
  init(64, 8);
  put({.tokens = {1, 2}, .hashes = {5, 6}}, {1, 2});
  EXPECT_EQ(find({.tokens = {1, 2}, .hashes = {5, 6}}).num_known_tokens, 128);
  EXPECT_EQ(find({.tokens = {3, 2}, .hashes = {5, 6}}).num_known_tokens, 0);
  EXPECT_EQ(find({.tokens = {1, 3}, .hashes = {5, 6}}).num_known_tokens, 64);
  // Equal chunks behind different prefixes, as a broken chain would make them.
  put({.tokens = {7, 2}, .hashes = {5, 6}}, {1, 2});
  const PrefixMatch match = find({.tokens = {7, 2}, .hashes = {5, 6}});
  ASSERT_NE(match.node, nullptr);
  EXPECT_EQ(match.node->parent->key.tokens[0], 7);
  EXPECT_EQ(find({.tokens = {2, 2}, .hashes = {6, 6}}).num_known_tokens, 0);
}

TEST_F(PrefixIndexTest, TellsWaysOfComputingApart) {
  init(64, 8);
  put({.tokens = {1, 2, 3}, .codes = {0, 5, 1}}, {2, 3});
  put({.tokens = {1, 2}}, {2});
  EXPECT_EQ(find({.tokens = {1, 2, 3}}).node->num_tokens(), 192);
  EXPECT_EQ(find({.tokens = {1, 2, 3}}, ChunkMatch::kPrompt).node->num_tokens(), 128);
  EXPECT_EQ(find({.tokens = {1, 2}}).node->key.code, 0) << "as a prompt, where there is a choice";
  const Text exact{.tokens = {1, 2, 3}, .codes = {0, 5, 1}};
  EXPECT_EQ(find(exact, ChunkMatch::kExact).node->num_tokens(), 192);
  const Text other{.tokens = {1, 2, 3}, .codes = {0, 6, 1}};
  EXPECT_EQ(find(other, ChunkMatch::kExact).num_known_tokens, 64);
}

TEST_F(PrefixIndexTest, LimitsVariantsOfTheSameTokens) {
  init(64, 2);
  for (ChunkCode code = 0; code < 4; ++code) put({.tokens = {1}, .codes = {code}});
  BlockTable table(*blocks_);
  PrefixPin pin;
  EXPECT_EQ(put({.tokens = {1}, .codes = {4}}, table, pin), 0);
  EXPECT_EQ(put({.tokens = {1}, .codes = {3}}, table, pin), 1);
}

TEST_F(PrefixIndexTest, EvictsLeavesAndSparesWhatIsPinned) {
  init(32, 4);
  BlockTable table(*blocks_);
  PrefixPin pin;
  ASSERT_EQ(put({.tokens = {1, 2}}, table, pin), 2);
  put({.tokens = {1, 3, 4}});
  put({.tokens = {5, 6, 7}});
  EXPECT_EQ(blocks_->num_free(), 4);
  EXPECT_EQ(blocks_->num_reclaimable(), 20);
  EXPECT_TRUE(index_->evict_blocks(12));
  EXPECT_EQ(blocks_->num_free(), 12);
  EXPECT_EQ(find({.tokens = {1, 3, 4}}).num_known_tokens, 64) << "the older branch went first";
  EXPECT_EQ(find({.tokens = {5, 6, 7}}).num_known_tokens, 192);
  EXPECT_TRUE(index_->evict_blocks(24));
  EXPECT_FALSE(index_->evict_blocks(25));
  EXPECT_EQ(find({.tokens = {1, 2}}).num_known_tokens, 128);
}

TEST_F(PrefixIndexTest, GivesUpTheSnapshotThatSavesLeast) {
  init(400, 3);
  Text longer{.tokens = std::vector<int32_t>(40, 1)};
  std::iota(longer.tokens.begin(), longer.tokens.end(), 100);
  put(longer, {30, 40});  // 30 chunks and 10 chunks
  put({.tokens = {1, 2}}, {2});
  put({.tokens = {3, 4, 5}}, {3});  // takes the place of the shortest
  EXPECT_EQ(index_->stats().evicted_snapshots, 1);
  EXPECT_EQ(find({.tokens = {1, 2}}).node, nullptr);
  EXPECT_EQ(find(longer).node->depth, 40);
  EXPECT_EQ(find({.tokens = {3, 4, 5}}).node->depth, 3);
}

TEST_F(PrefixIndexTest, WhatIsNotUsedGrowsOldHoweverMuchItSaved) {
  init(4000, 2);
  Text idle{.tokens = std::vector<int32_t>(30)};
  std::iota(idle.tokens.begin(), idle.tokens.end(), 1000);
  put(idle, {30});
  int32_t rounds = 0;
  while (find(idle).node != nullptr) {
    ASSERT_LT(++rounds, 200);
    const int32_t first = 10 * rounds;
    put({.tokens = {first, first + 1}}, {2});
  }
  EXPECT_GE(rounds, 10) << "it is worth fifteen of the others";
}

TEST_F(PrefixIndexTest, UseKeepsASnapshot) {
  init(4000, 2);
  put({.tokens = {1, 2}}, {2});
  for (int32_t i = 1; i < 100; ++i) {
    PrefixNode* const node = find({.tokens = {1, 2}}).node;
    ASSERT_NE(node, nullptr);
    index_->note_hit(*node);
    put({.tokens = {10 * i, 10 * i + 1}}, {2});
  }
}

TEST_F(PrefixIndexTest, ReservesNoMoreSnapshotsThanThereAre) {
  init(64, 2);
  const std::optional<StateSlot> a = index_->reserve_snapshot();
  const std::optional<StateSlot> b = index_->reserve_snapshot();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(std::min(a->id(), b->id()), 3) << "slots are numbered behind those of sequences";
  EXPECT_FALSE(index_->reserve_snapshot().has_value());
}

TEST_F(PrefixIndexTest, ForgetsWhatNothingElseBuildsOn) {
  init(64, 4);
  put({.tokens = {1, 2, 3, 4}}, {4});
  put({.tokens = {1, 2, 9}});
  index_->forget(*find({.tokens = {1, 2, 3, 4}}).node);
  EXPECT_EQ(find({.tokens = {1, 2, 3, 4}}).num_known_tokens, 128);
  EXPECT_EQ(find({.tokens = {1, 2, 9}}).num_known_tokens, 192);
  EXPECT_EQ(index_->stats().num_snapshots, 0);
}

TEST_F(PrefixIndexTest, ReplacesOldChunksWhenItIsFull) {
  init(40, 4);  // 10 chunks of blocks, 50 nodes
  for (int32_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(index_->evict_blocks(8));
    put({.tokens = {i, i + 1}}, {2});
  }
  EXPECT_EQ(index_->stats().num_nodes, 10);
  EXPECT_EQ(blocks_->num_free(), 0);
  index_.reset();
  EXPECT_EQ(blocks_->num_free(), 40);
  EXPECT_EQ(snapshots_->num_free(), 4);
}

}  // namespace
}  // namespace deltaserve
