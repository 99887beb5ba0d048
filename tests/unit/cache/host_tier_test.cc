// Entries of host memory, and what moves between device and host when both are short.
#include "cache/host_tier.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "base/check.h"
#include "cache/block_table.h"
#include "cache/prefix_pin.h"

namespace deltaserve {
namespace {

TEST(HostStore, GivesEveryEntryOnceAndKeepsThemApart) {
  HostStore store(8, 3);
  std::set<int32_t> entries;
  for (int i = 0; i < 3; ++i) {
    const int32_t entry = store.allocate().value();
    entries.insert(entry);
    std::memset(store.data(entry), entry + 1, 8);
  }
  EXPECT_EQ(entries, (std::set<int32_t>{0, 1, 2}));
  EXPECT_FALSE(store.allocate().has_value());
  for (const int32_t entry : entries) {
    for (int i = 0; i < 8; ++i) EXPECT_EQ(store.data(entry)[i], std::byte(entry + 1));
  }
  store.release(1);
  EXPECT_FALSE(store.in_use(1));
  EXPECT_THROW(store.release(1), InvariantError);
  EXPECT_THROW(static_cast<void>(store.data(1)), InvariantError);
  EXPECT_EQ(store.allocate(), 1);
}

// A device whose blocks and slots hold one number each.
class FakeTransfer : public CacheTransfer {
 public:
  int64_t block_bytes() const override { return sizeof(int32_t); }
  int64_t state_bytes() const override { return sizeof(int32_t); }
  void save_block(int32_t block, std::byte* to) override { save(blocks[block], to); }
  void load_block(const std::byte* from, int32_t block) override { load(from, blocks[block]); }
  void save_state(int32_t slot, std::byte* to) override { save(slots[slot], to); }
  void load_state(const std::byte* from, int32_t slot) override { load(from, slots[slot]); }

  std::map<int32_t, int32_t> blocks;
  std::map<int32_t, int32_t> slots;

 private:
  static void save(int32_t value, std::byte* to) { std::memcpy(to, &value, sizeof(value)); }
  static void load(const std::byte* from, int32_t& value) {
    std::memcpy(&value, from, sizeof(value));
  }
};

class HostTierTest : public testing::Test {
 protected:
  void init(int32_t num_blocks, int32_t num_snapshots, int64_t bytes) {
    blocks_ = std::make_unique<BlockPool>(num_blocks);
    snapshots_ = std::make_unique<StatePool>(num_snapshots);
    host_ = std::make_unique<HostTier>(device_, bytes);
    index_ = std::make_unique<PrefixIndex>(*blocks_, *snapshots_, 1, host_.get());
  }

  static ChunkKey key_of(const std::vector<int32_t>& text, int64_t chunk) {
    ChunkKey key;
    key.hash.low = 1;
    for (int64_t i = 0; i <= chunk; ++i) {
      key.hash.low = key.hash.low * 1000 + static_cast<uint64_t>(text[static_cast<size_t>(i)]);
    }
    key.tokens.fill(text[static_cast<size_t>(chunk)]);
    return key;
  }

  // A sequence that computes a text, leaves a state at its end, and goes. Blocks hold the token.
  void put(const std::vector<int32_t>& text) {
    ASSERT_TRUE(index_->evict_blocks(static_cast<int64_t>(text.size()) * kBlocksPerChunk));
    BlockTable table(*blocks_);
    ASSERT_TRUE(table.reserve_tokens(static_cast<int64_t>(text.size()) * kChunkSize));
    PrefixPin pin(*index_, index_->root(""));
    for (size_t i = 0; i < text.size(); ++i) {
      const std::span<const int32_t, kBlocksPerChunk> blocks(
          table.blocks().data() + i * kBlocksPerChunk, kBlocksPerChunk);
      for (const int32_t block : blocks) device_.blocks[block] = text[i];
      pin = PrefixPin(*index_,
                      *index_->extend(*pin.node(), key_of(text, static_cast<int64_t>(i)), blocks));
    }
    std::optional<StateSlot> slot = index_->reserve_snapshot();
    ASSERT_TRUE(slot.has_value());
    device_.slots[slot->id()] = text.back();
    index_->attach_snapshot(*pin.node(), std::move(*slot));
  }

  PrefixNode* find(const std::vector<int32_t>& text) const {
    return index_
        ->find({.salt = "", .num_chunks = static_cast<int64_t>(text.size())},
               [&text](int64_t chunk, ChunkKey& key) { key = key_of(text, chunk); })
        .node;
  }

  FakeTransfer device_;
  std::unique_ptr<BlockPool> blocks_;
  std::unique_ptr<StatePool> snapshots_;
  std::unique_ptr<HostTier> host_;
  std::unique_ptr<PrefixIndex> index_;
};

TEST_F(HostTierTest, MovesLeavesOutAndBringsThemBackWhole) {
  init(16, 2, 1000);
  put({1, 2});
  put({3, 4});
  put({5, 6});
  PrefixNode* const node = find({1, 2});
  ASSERT_NE(node, nullptr);
  EXPECT_FALSE(node->on_device());
  EXPECT_FALSE(node->snapshot.has_value());
  EXPECT_EQ(index_->stats().evicted_blocks, 0);
  EXPECT_EQ(device_part(*node).depth, 0);

  PrefixPin pin(*index_, *node);
  ASSERT_TRUE(index_->evict_blocks(8));
  BlockTable table(*blocks_);
  ASSERT_TRUE(table.reserve_tokens(128));
  for (const int32_t block : table.blocks()) device_.blocks[block] = -1;
  const std::span<const int32_t> blocks = table.blocks();
  index_->load_chunk(*node->parent,
                     std::span<const int32_t, kBlocksPerChunk>(blocks.data(), kBlocksPerChunk));
  index_->load_chunk(*node,
                     std::span<const int32_t, kBlocksPerChunk>(blocks.data() + 4, kBlocksPerChunk));
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(device_.blocks[blocks[i]], i < 4 ? 1 : 2);
  host_->load_state(*node, 99);
  EXPECT_EQ(device_.slots[99], 2);
  EXPECT_TRUE(node->on_device());
  EXPECT_EQ(blocks_->ref_count(blocks[0]), 2);
  EXPECT_EQ(index_->stats().host.chunks_in, 2);
}

TEST_F(HostTierTest, GivesUpWhatIsWorthLeastWhenTheHostIsFullToo) {
  init(16, 2, 2 * 5 * 4 * 4);  // five chunks and twenty states
  for (int32_t i = 0; i < 40; ++i) {
    put({10 * i, 10 * i + 1});
    const PrefixIndexStats stats = index_->stats();
    EXPECT_LE(stats.host.num_chunks, 5);
    EXPECT_LE(stats.num_nodes, 4 + 5);
  }
  EXPECT_GT(index_->stats().evicted_blocks, 100);
  EXPECT_NE(find({390, 391}), nullptr);
  EXPECT_EQ(find({0, 1}), nullptr);
}

TEST_F(HostTierTest, WithoutRoomForAChunkItKeepsStatesOnly) {
  init(64, 2, 2 * 12);  // less than a chunk, three states
  for (int32_t i = 0; i < 5; ++i) put({10 * i, 10 * i + 1});
  const PrefixIndexStats stats = index_->stats();
  EXPECT_EQ(stats.host.num_chunks, 0);
  EXPECT_EQ(stats.host.num_states, 3);
  EXPECT_EQ(stats.num_snapshots, 2);
  for (int32_t i = 0; i < 5; ++i) {
    EXPECT_NE(find({10 * i, 10 * i + 1}), nullptr);
  }
}

TEST_F(HostTierTest, AChunkComputedAgainIsOnTheDeviceAgain) {
  init(16, 2, 1000);
  put({1, 2});
  put({3, 4});
  put({5, 6});
  put({1, 2});
  PrefixNode* const node = find({1, 2});
  ASSERT_NE(node, nullptr);
  EXPECT_TRUE(node->on_device());
  EXPECT_EQ(index_->stats().host.chunks_in, 0);
  index_.reset();
  EXPECT_EQ(blocks_->num_free(), 16);
}

}  // namespace
}  // namespace deltaserve
