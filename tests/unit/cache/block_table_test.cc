// Growth by whole blocks, all or nothing, and return of everything at the end.
#include "cache/block_table.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace deltaserve {
namespace {

TEST(BlockTable, GrowsInWholeBlocks) {
  BlockPool pool(8);
  BlockTable table(pool);
  EXPECT_TRUE(table.reserve_tokens(1));
  EXPECT_EQ(table.num_blocks(), 1);
  EXPECT_TRUE(table.reserve_tokens(16));
  EXPECT_EQ(table.num_blocks(), 1);
  EXPECT_TRUE(table.reserve_tokens(17));
  EXPECT_EQ(table.num_blocks(), 2);
  EXPECT_TRUE(table.reserve_tokens(3));  // never shrinks
  EXPECT_EQ(table.num_blocks(), 2);
  EXPECT_EQ(pool.num_free(), 6);
}

TEST(BlockTable, TakesNothingWhenThePoolIsShort) {
  BlockPool pool(3);
  BlockTable table(pool);
  ASSERT_TRUE(table.reserve_tokens(20));
  EXPECT_FALSE(table.reserve_tokens(100));
  EXPECT_EQ(table.num_blocks(), 2);
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(BlockTable, MapsTokensToSlots) {
  BlockPool pool(8);
  BlockTable other(pool);
  BlockTable table(pool);
  ASSERT_TRUE(table.reserve_tokens(16));
  ASSERT_TRUE(other.reserve_tokens(16));
  ASSERT_TRUE(table.reserve_tokens(40));
  for (int64_t i = 0; i < 48; ++i) {
    const int32_t block = table.blocks()[static_cast<size_t>(i / kBlockSize)];
    EXPECT_EQ(table.slot_of(i), block * kBlockSize + i % kBlockSize);
  }
  EXPECT_THROW(static_cast<void>(table.slot_of(48)), InvariantError);
  EXPECT_THROW(static_cast<void>(table.slot_of(-1)), InvariantError);
}

TEST(BlockTable, ReturnsItsBlocks) {
  BlockPool pool(4);
  {
    BlockTable table(pool);
    ASSERT_TRUE(table.reserve_tokens(64));
    EXPECT_EQ(pool.num_free(), 0);
    table.clear();
    EXPECT_EQ(pool.num_free(), 4);
    EXPECT_EQ(table.num_blocks(), 0);
    ASSERT_TRUE(table.reserve_tokens(30));
  }
  EXPECT_EQ(pool.num_free(), 4);
}

TEST(BlockTable, GivesBackOnlyItsOwnReferences) {
  BlockPool pool(2);
  int32_t shared = -1;
  {
    BlockTable table(pool);
    ASSERT_TRUE(table.reserve_tokens(1));
    shared = table.blocks()[0];
    pool.add_ref(shared);
  }
  EXPECT_EQ(pool.ref_count(shared), 1);
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(BlockTable, SharesAndReplacesBlocks) {
  BlockPool pool(8);
  BlockTable first(pool);
  ASSERT_TRUE(first.reserve_tokens(40));
  {
    BlockTable second(pool);
    second.share(first.blocks().first(2));
    ASSERT_TRUE(second.reserve_tokens(48));
    EXPECT_EQ(pool.num_free(), 4);
    EXPECT_EQ(second.blocks()[1], first.blocks()[1]);
    EXPECT_NE(second.blocks()[2], first.blocks()[2]);
    second.replace(2, first.blocks()[2]);
    EXPECT_EQ(pool.num_free(), 5);
    EXPECT_EQ(pool.ref_count(first.blocks()[2]), 2);
    second.replace(2, first.blocks()[2]);
    EXPECT_EQ(pool.ref_count(first.blocks()[2]), 2);
  }
  EXPECT_EQ(pool.ref_count(first.blocks()[2]), 1);
}

TEST(BlockTable, CountsBlocks) {
  EXPECT_EQ(blocks_for_tokens(0), 0);
  EXPECT_EQ(blocks_for_tokens(1), 1);
  EXPECT_EQ(blocks_for_tokens(16), 1);
  EXPECT_EQ(blocks_for_tokens(17), 2);
  EXPECT_EQ(blocks_for_tokens(262144), 16384);
}

}  // namespace
}  // namespace deltaserve
