// How streamed products share W out: every row in one band, bands that fit the kernel, and the
// device as busy as it can be.
#include <gtest/gtest.h>

#include <array>

#include "backends/cuda/streamed_bands.h"

namespace deltaserve::cuda {
namespace {

// An H200: multiprocessors come in groups over which no cluster reaches.
constexpr std::array<int32_t, 3> kHeld = {132, 66, 30};

TEST(CudaStreamedBands, CoverAllRowsOnce) {
  for (int64_t rows = 4096; rows < 300'000; rows += 8) {
    const Bands bands = plan_bands(rows, kHeld);
    ASSERT_EQ(bands.rows % kBandStep, 0) << rows;
    ASSERT_LE(bands.rows, kMostBandRows) << rows;
    ASSERT_GE(int64_t{bands.rows} * bands.count, rows) << rows;
    ASSERT_LT(int64_t{bands.rows} * (bands.count - 1), rows) << rows;
  }
}

// A cluster adds its sums up in the memory of its ring, so it has one band.
TEST(CudaStreamedBands, AClusterHasOneBand) {
  for (const auto& held : {kHeld, {114, 57, 27}, {78, 39, 18}}) {
    for (int64_t rows = 4096; rows < 40'000; rows += 8) {
      const Bands bands = plan_bands(rows, held);
      if (bands.blocks > 1) {
        ASSERT_LE(bands.count, held[static_cast<size_t>(bands.blocks / 2)]) << rows;
      }
    }
  }
}

TEST(CudaStreamedBands, ModelsKeepTheDeviceBusy) {
  // Rows of the 27B's and the 35B-A3B's matrices.
  for (const int64_t rows : {4096, 5120, 9216, 12'352, 14'336, 16'480, 34'816, 248'320}) {
    const Bands bands = plan_bands(rows, kHeld);
    const int64_t teams = kHeld[static_cast<size_t>(bands.blocks / 2)];
    const int64_t rounds = (bands.count + teams - 1) / teams;
    const double most = static_cast<double>(rounds * bands.rows) / bands.blocks;
    EXPECT_GT(static_cast<double>(rows) / 132.0 / most, rows > 4096 ? 0.96 : 0.86) << rows;
    EXPECT_GE(bands.rows, kFewestBandRows) << rows;
  }
}

}  // namespace
}  // namespace deltaserve::cuda
