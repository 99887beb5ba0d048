// A streamed product's sums (streamed_product.cu): two warpgroups multiply what comes through the
// ring.
#pragma once

#include <cstdint>

#include "backends/cuda/hopper.cuh"
#include "backends/cuda/streamed_ring.cuh"
#include "backends/cuda/wgmma_narrow.cuh"

namespace deltaserve::cuda {

// A warpgroup's sums of its kTiles tiles of a band: [64 rows][kTokens] each.
template <int kTokens, int kTiles>
using StreamSums = float[kTiles][kTokens / 2];

// Tile j of this warpgroup. Those of the second may lie behind the band's end, and the last one may
// reach over it: results of such rows are not used.
template <int kTiles>
__device__ __forceinline__ int tile_of(int j) {
  return static_cast<int>(threadIdx.x) / 128 * kTiles + j;
}

// sums over the next `count` stages.
template <int kTokens, int kTiles, int kPieces>
__device__ __forceinline__ void multiply_stages(const StreamRing<kTokens, kPieces>& ring,
                                                const StreamParams& params, int count,
                                                RingPlace& place,
                                                StreamSums<kTokens, kTiles>& sums) {
  const int last_tile = (params.bands.rows - 1) / kStreamTileRows;
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (float& sum : sums[j]) {
      sum = 0.0F;
    }
  }
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    mbarrier_wait(ring.full + 8 * place.stage, place.parity);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      pin(sums[j]);
    }
    wgmma_fence();
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const uint32_t weight =
          ring.weight + place.stage * ring.weight_bytes + piece * ring.weight_piece;
      const uint64_t b =
          wgmma_operand(ring.x + place.stage * ring.kXBytes + piece * ring.kXPiece, 16, 1024);
#pragma unroll
      for (int k = 0; k < kStreamPiece / 16; ++k) {
#pragma unroll
        for (int j = 0; j < kTiles; ++j) {
          const int tile = min(tile_of<kTiles>(j), last_tile);
          const uint64_t a =
              wgmma_operand(weight + tile * kStreamTileRows * kStreamRowBytes, 16, 1024);
          wgmma_narrow(sums[j], a + 2 * k, b + 2 * k);
        }
      }
    }
    wgmma_commit();
    wgmma_wait();
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      pin(sums[j]);
    }
    if (threadIdx.x % kWarp == 0) {
      mbarrier_arrive(ring.empty + 8 * place.stage);
    }
    place.advance(params.stages);
  }
}

}  // namespace deltaserve::cuda
