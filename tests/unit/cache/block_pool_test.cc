// Counting of blocks: every block is given out once, comes back with its last reference, and misuse
// is noticed.
#include "cache/block_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "base/check.h"

namespace deltaserve {
namespace {

TEST(BlockPool, GivesEveryBlockOnce) {
  BlockPool pool(5);
  std::set<int32_t> blocks;
  for (int i = 0; i < 5; ++i) blocks.insert(pool.allocate().value());
  EXPECT_EQ(blocks, (std::set<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(pool.num_free(), 0);
  EXPECT_FALSE(pool.allocate().has_value());
}

TEST(BlockPool, FreesWithTheLastReference) {
  BlockPool pool(1);
  const int32_t block = pool.allocate().value();
  pool.add_ref(block);
  EXPECT_EQ(pool.ref_count(block), 2);
  pool.release(block);
  EXPECT_EQ(pool.num_free(), 0);
  pool.release(block);
  EXPECT_EQ(pool.num_free(), 1);
  EXPECT_EQ(pool.allocate(), block);
}

TEST(BlockPool, NoticesMisuse) {
  BlockPool pool(2);
  const int32_t block = pool.allocate().value();
  pool.release(block);
  EXPECT_THROW(pool.release(block), InvariantError);
  EXPECT_THROW(pool.add_ref(block), InvariantError);
  EXPECT_THROW(pool.release(2), InvariantError);
  EXPECT_THROW(pool.release(-1), InvariantError);
}

TEST(BlockPool, CountsWhatOnlyTheCacheHolds) {
  BlockPool pool(3);
  const int32_t a = pool.allocate().value();
  const int32_t b = pool.allocate().value();
  pool.add_cache_ref(a);
  EXPECT_EQ(pool.num_reclaimable(), 0);
  pool.release(a);
  EXPECT_EQ(pool.num_reclaimable(), 1);
  EXPECT_THROW(pool.release(a), InvariantError);
  pool.add_cache_ref(a);
  EXPECT_EQ(pool.num_reclaimable(), 1);
  pool.add_ref(a);
  EXPECT_EQ(pool.num_reclaimable(), 0);
  const std::vector<int32_t> table{b};
  pool.recount(std::vector<std::span<const int32_t>>{table});
  EXPECT_EQ(pool.ref_count(a), 2);
  EXPECT_EQ(pool.num_reclaimable(), 1);
  pool.release_cache_ref(a);
  EXPECT_EQ(pool.num_reclaimable(), 1);
  pool.release_cache_ref(a);
  EXPECT_EQ(pool.num_reclaimable(), 0);
  EXPECT_EQ(pool.num_free(), 2);
  EXPECT_THROW(pool.add_cache_ref(a), InvariantError);
  EXPECT_THROW(pool.release_cache_ref(b), InvariantError);
}

TEST(BlockPool, RecountTakesTheOwnersWord) {
  BlockPool pool(4);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pool.allocate());
  const std::vector<int32_t> a{0, 2};
  const std::vector<int32_t> b{2};
  const std::vector<std::span<const int32_t>> held{a, b};
  pool.recount(held);
  EXPECT_EQ(pool.ref_count(0), 1);
  EXPECT_EQ(pool.ref_count(1), 0);
  EXPECT_EQ(pool.ref_count(2), 2);
  EXPECT_EQ(pool.num_free(), 2);
  const std::set<int32_t> rest{pool.allocate().value(), pool.allocate().value()};
  EXPECT_EQ(rest, (std::set<int32_t>{1, 3}));
}

TEST(BlockPool, MayBeEmpty) {
  BlockPool pool(0);
  EXPECT_FALSE(pool.allocate().has_value());
}

}  // namespace
}  // namespace deltaserve
