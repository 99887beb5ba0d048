// How W is shared out among thread blocks (streamed_product.cu): in bands of equally many rows, a
// band to a cluster of blocks, of which each takes an equal part of K. It follows from the number
// of W's rows and from the device only, so that a row's sum has the same order for any number of
// rows of x.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace deltaserve::cuda {

inline constexpr int64_t kBandStep = 16;  // rows of a warp, and of a group of gate and up
// Ring stages of so many rows and 64 of K: five fit a multiprocessor.
inline constexpr int64_t kMostBandRows = 288;
// With fewer for each cluster x would be read nearly as often as W: K is divided among more blocks.
inline constexpr int64_t kFewestBandRows = 72;

struct Bands {
  int32_t rows = 0;    // of a band; of the last there may be fewer
  int32_t count = 0;   // bands
  int32_t blocks = 0;  // of a cluster
};

// The device holds `clusters[i]` clusters of 1 << i thread blocks at a time, a block a
// multiprocessor. The smallest clusters whose bands are high enough, or the largest, and the number
// of bands for each of them that gives the first to end the fewest rows.
template <size_t N>
constexpr Bands plan_bands(int64_t rows, const std::array<int32_t, N>& clusters) {
  Bands bands;
  for (size_t i = 0; i < N; ++i) {
    const int64_t teams = clusters[i];
    int64_t best = 0;
    int64_t best_height = 0;
    for (int64_t rounds = 1;; ++rounds) {
      const int64_t parts = teams * rounds * kBandStep;
      const int64_t height = (rows + parts - 1) / parts * kBandStep;
      if (best != 0 && height < kFewestBandRows) {
        break;
      }
      if (height <= kMostBandRows && (best == 0 || height * rounds < best)) {
        best = height * rounds;
        best_height = height;
      }
    }
    bands = {.rows = static_cast<int32_t>(best_height),
             .count = static_cast<int32_t>((rows + best_height - 1) / best_height),
             .blocks = 1 << i};
    if (rows >= kFewestBandRows * teams) {
      break;
    }
  }
  return bands;
}

}  // namespace deltaserve::cuda
