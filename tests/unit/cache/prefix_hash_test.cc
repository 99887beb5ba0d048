// The chain depends on salt, order, every token and every content key, and on nothing else.
#include "cache/prefix_hash.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>

namespace deltaserve {
namespace {

using Block = std::array<int32_t, kBlockSize>;

Block block_of(int32_t first) {
  Block block;
  for (int32_t i = 0; i < kBlockSize; ++i) block[static_cast<size_t>(i)] = first + i;
  return block;
}

TEST(PrefixHash, DependsOnEveryToken) {
  const Hash128 start = hash_salt("", 1);
  std::set<std::pair<uint64_t, uint64_t>> seen;
  seen.insert({hash_block(start, block_of(0), {}).low, hash_block(start, block_of(0), {}).high});
  for (size_t i = 0; i < kBlockSize; ++i) {
    for (int32_t bit = 0; bit < 32; ++bit) {
      Block block = block_of(0);
      block[i] = static_cast<int32_t>(static_cast<uint32_t>(block[i]) ^ (1U << bit));
      const Hash128 hash = hash_block(start, block, {});
      seen.insert({hash.low, hash.high});
    }
  }
  EXPECT_EQ(seen.size(), 1U + 32 * kBlockSize);
}

TEST(PrefixHash, SpreadsASingleBitOverBothHalves) {
  const Hash128 start = hash_salt("", 1);
  const Hash128 plain = hash_block(start, block_of(0), {});
  int64_t low = 0;
  int64_t high = 0;
  constexpr int kTrials = 512;
  for (int trial = 0; trial < kTrials; ++trial) {
    Block block = block_of(0);
    block[static_cast<size_t>(trial / 32)] ^= static_cast<int32_t>(1U << (trial % 32));
    const Hash128 hash = hash_block(start, block, {});
    low += std::popcount(hash.low ^ plain.low);
    high += std::popcount(hash.high ^ plain.high);
  }
  EXPECT_NEAR(static_cast<double>(low) / kTrials, 32.0, 1.5);
  EXPECT_NEAR(static_cast<double>(high) / kTrials, 32.0, 1.5);
}

TEST(PrefixHash, DependsOnSaltSeedOrderAndContent) {
  const Hash128 start = hash_salt("", 1);
  EXPECT_EQ(start, hash_salt("", 1));
  EXPECT_NE(start, hash_salt("", 2));
  EXPECT_NE(start, hash_salt("a", 1));
  EXPECT_NE(hash_salt("a", 1), hash_salt(std::string_view("a\0", 2), 1));
  EXPECT_NE(hash_salt("0123456789abcdefX", 1), hash_salt("0123456789abcdefY", 1));
  const Block a = block_of(0);
  const Block b = block_of(100);
  EXPECT_NE(hash_block(hash_block(start, a, {}), b, {}),
            hash_block(hash_block(start, b, {}), a, {}));
  EXPECT_NE(hash_block(start, a, {}), hash_block(start, a, {.low = 1, .high = 0}));
  EXPECT_NE(hash_block(start, a, {.low = 0, .high = 1}),
            hash_block(start, a, {.low = 1, .high = 0}));
}

TEST(PrefixHash, FoldsTheKeysOfARange) {
  const std::vector<ContentKey> keys = {{.position = 3, .hash = {.low = 1, .high = 2}},
                                        {.position = 20, .hash = {.low = 3, .high = 4}},
                                        {.position = 20, .hash = {.low = 5, .high = 6}}};
  EXPECT_EQ(fold_content(keys, 0, 3), Hash128{});
  EXPECT_EQ(fold_content(keys, 4, 20), Hash128{});
  EXPECT_NE(fold_content(keys, 3, 4), Hash128{});
  EXPECT_EQ(fold_content(keys, 0, 16), fold_content(keys, 3, 20));
  EXPECT_NE(fold_content(keys, 0, 64), fold_content(keys, 0, 16));
  std::vector<ContentKey> moved = keys;
  moved[0].position = 4;
  EXPECT_NE(fold_content(moved, 0, 16), fold_content(keys, 0, 16));
}

}  // namespace
}  // namespace deltaserve
