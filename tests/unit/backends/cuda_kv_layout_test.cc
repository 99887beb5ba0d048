// The layout of a KV block on CUDA: every element has a place of its own, and bfloat16 heads of 256
// lie as ldmatrix and wgmma read them.
#include <gtest/gtest.h>

#include <set>

#include "backends/cuda/kv_layout.h"

namespace deltaserve::cuda {
namespace {

constexpr int64_t kHeadDim = kTensorHeadDim;
constexpr int64_t kPieces = kHeadDim / kKvPiece;

template <bool kSwizzled>
std::set<int64_t> places() {
  std::set<int64_t> all;
  for (int64_t offset = 0; offset < kBlockSize; ++offset) {
    for (int64_t piece = 0; piece < kPieces; ++piece) {
      all.insert(kv_piece<kSwizzled>(offset, piece, kHeadDim));
    }
  }
  return all;
}

TEST(CudaKvLayout, PiecesFillABlockOnce) {
  for (const auto& all : {places<false>(), places<true>()}) {
    ASSERT_EQ(all.size(), static_cast<size_t>(kBlockSize * kPieces));
    EXPECT_EQ(*all.begin(), 0);
    EXPECT_EQ(*all.rbegin(), kBlockSize * kHeadDim - kKvPiece);
    for (const int64_t place : all) {
      EXPECT_EQ(place % kKvPiece, 0);
    }
  }
}

// Eight rows of a tile, one piece of each: what one ldmatrix reads. 32 banks of 4 bytes are 8
// pieces wide.
TEST(CudaKvLayout, AColumnOfPiecesTouchesEveryBank) {
  for (int64_t first = 0; first < kBlockSize; first += 8) {
    for (int64_t piece = 0; piece < kPieces; ++piece) {
      std::set<int64_t> banks;
      for (int64_t row = first; row < first + 8; ++row) {
        banks.insert(kv_piece<true>(row, piece, kHeadDim) / kKvPiece % 8);
      }
      EXPECT_EQ(banks.size(), 8U) << "rows from " << first << ", piece " << piece;
    }
  }
}

// Byte address bits 4 to 6 are those of the piece xor bits 7 to 9: the 128-byte swizzle.
TEST(CudaKvLayout, IsTheSwizzleOfTheHardware) {
  for (int64_t offset = 0; offset < kBlockSize; ++offset) {
    for (int64_t piece = 0; piece < kPieces; ++piece) {
      const int64_t plain = (piece / 8 * kBlockSize + offset) * 128 + piece % 8 * 16;
      EXPECT_EQ(kv_piece<true>(offset, piece, kHeadDim) * 2, plain ^ (plain >> 3 & 0x70));
    }
  }
}

TEST(CudaKvLayout, HeadsFollowEachOtherWithKThenV) {
  constexpr int64_t kHalf = kBlockSize * kHeadDim;
  EXPECT_EQ(kv_base(0, false, 0, 4, kHeadDim), 0);
  EXPECT_EQ(kv_base(0, true, 0, 4, kHeadDim), kHalf);
  EXPECT_EQ(kv_base(0, false, 1, 4, kHeadDim), 2 * kHalf);
  EXPECT_EQ(kv_base(3, true, 2, 4, kHeadDim), ((3 * 4 + 2) * 2 + 1) * kHalf);
}

}  // namespace
}  // namespace deltaserve::cuda
