// Prefixes as files: what is written is read, and nothing else is.
#include "cache/prefix_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "cache/named_prefixes.h"

namespace deltaserve {
namespace {

constexpr PrefixFormat kFormat{
    .fingerprint = {.low = 1, .high = 2}, .block_bytes = 3, .state_bytes = 5};

class PrefixFileTest : public testing::Test {
 protected:
  PrefixFileTest() {
    for (size_t i = 0; i < kv_.size(); ++i) kv_[i] = static_cast<std::byte>(i * 7);
    prefix_ = {.name = "agent", .salt = "s", .chunks = {}, .states = {}};
    for (size_t i = 0; i < 3; ++i) {
      StoredChunk& chunk = prefix_.chunks.emplace_back();
      chunk.code = static_cast<ChunkCode>(i * 30);
      std::ranges::fill(chunk.tokens, static_cast<int32_t>(i) - 1);
      chunk.kv = std::span(kv_).subspan(12 * i, 12);
    }
    prefix_.states = {{.depth = 1, .bytes = std::span(kv_).subspan(36, 5)},
                      {.depth = 3, .bytes = std::span(kv_).subspan(41, 5)}};
  }

  // The file with a checksum that fits whatever was done to it.
  static std::vector<std::byte> sealed(std::vector<std::byte> file) {
    const size_t size = file.size() - sizeof(Hash128);
    const Hash128 sum = prefix_checksum(std::span(file).first(size));
    std::memcpy(file.data() + size, &sum, sizeof(sum));
    return file;
  }

  std::array<std::byte, 64> kv_{};
  StoredPrefix prefix_;
};

TEST_F(PrefixFileTest, WhatIsWrittenIsRead) {
  const std::vector<std::byte> file = write_prefix(kFormat, prefix_);
  EXPECT_EQ(static_cast<int64_t>(file.size()), prefix_file_bytes(kFormat, prefix_));
  const Result<StoredPrefix> read = read_prefix(kFormat, file);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name, "agent");
  EXPECT_EQ(read->salt, "s");
  ASSERT_EQ(read->chunks.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->chunks[i].code, prefix_.chunks[i].code);
    EXPECT_EQ(read->chunks[i].tokens, prefix_.chunks[i].tokens);
    EXPECT_TRUE(std::ranges::equal(read->chunks[i].kv, prefix_.chunks[i].kv));
  }
  ASSERT_EQ(read->states.size(), 2U);
  EXPECT_EQ(read->states[1].depth, 3);
  EXPECT_TRUE(std::ranges::equal(read->states[1].bytes, prefix_.states[1].bytes));
}

TEST_F(PrefixFileTest, EveryCutAndEveryChangedByteIsRefused) {
  const std::vector<std::byte> file = write_prefix(kFormat, prefix_);
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(read_prefix(kFormat, std::span(file).first(size))) << size;
  }
  for (size_t i = 0; i < file.size(); ++i) {
    std::vector<std::byte> changed = file;
    changed[i] ^= std::byte{0x10};
    EXPECT_FALSE(read_prefix(kFormat, changed)) << i;
  }
  std::vector<std::byte> longer = file;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read_prefix(kFormat, longer));
}

TEST_F(PrefixFileTest, OfAnotherModelOrLayoutIsRefused) {
  const std::vector<std::byte> file = write_prefix(kFormat, prefix_);
  PrefixFormat other = kFormat;
  other.fingerprint.high = 3;
  EXPECT_FALSE(read_prefix(other, file));
  other = kFormat;
  other.block_bytes = 4;
  EXPECT_FALSE(read_prefix(other, file));
  other = kFormat;
  other.state_bytes = 4;
  EXPECT_FALSE(read_prefix(other, file));
}

TEST_F(PrefixFileTest, WhatContradictsItselfIsRefusedUnderAGoodChecksum) {
  StoredPrefix prefix = prefix_;
  std::swap(prefix.states[0], prefix.states[1]);
  EXPECT_FALSE(read_prefix(kFormat, write_prefix(kFormat, prefix))) << "states in no order";
  prefix = prefix_;
  prefix.states.pop_back();
  EXPECT_FALSE(read_prefix(kFormat, write_prefix(kFormat, prefix))) << "no state at the end";
  prefix = prefix_;
  prefix.chunks[1].code = kChunkSize + 1;
  EXPECT_FALSE(read_prefix(kFormat, write_prefix(kFormat, prefix))) << "no such way to compute";
  prefix = prefix_;
  prefix.name.clear();
  EXPECT_FALSE(read_prefix(kFormat, write_prefix(kFormat, prefix))) << "no name";
  std::vector<std::byte> file = write_prefix(kFormat, prefix_);
  // Counts and sizes stand in the head, bytes 40 to 60; whatever they become, nothing is read
  // beyond the file.
  for (size_t i = 0; i < 64; ++i) {
    for (const int value : {0x01, 0x7F, 0x80, 0xFF}) {
      std::vector<std::byte> changed = file;
      changed[i] ^= static_cast<std::byte>(value);
      EXPECT_FALSE(read_prefix(kFormat, sealed(changed))) << i;
    }
  }
}

TEST(NamedPrefixes, TheLatestOfAName) {
  NamedPrefixes names;
  PrefixNode root;
  PrefixNode first;
  PrefixNode second;
  first.parent = second.parent = &root;
  first.id = 1;
  second.id = 2;
  names.put("a", "", first);
  names.put("b", "", first);
  names.put("a", "salt", first);
  names.put("a", "", second);
  const auto entries = names.newest_first();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].node, &second);
  EXPECT_EQ(entries[1].salt, "salt");
  EXPECT_EQ(entries[2].name, "b");
  second.id = 3;  // evicted, and used for something else
  EXPECT_EQ(names.newest_first().size(), 2U);
  first.parent = nullptr;
  EXPECT_TRUE(names.newest_first().empty());
  EXPECT_NE(prefix_identity("a", "b"), prefix_identity("ba", ""));
  for (int i = 0; i < 2000; ++i) names.put(std::to_string(i), "", second);
  EXPECT_EQ(names.newest_first().size(), 1024U);
  EXPECT_EQ(names.newest_first().front().name, "1999");
}

}  // namespace
}  // namespace deltaserve
