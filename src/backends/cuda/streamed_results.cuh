// The multiplying side of a streamed product's thread block (streamed_product.cu): its bands one
// after the other, and what becomes of their sums.
#pragma once

#include <cstdint>

#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/streamed_exchange.cuh"
#include "backends/cuda/streamed_norm.cuh"
#include "backends/cuda/streamed_ring.cuh"
#include "backends/cuda/streamed_sums.cuh"

namespace deltaserve::cuda {

// Keeps the compiler from making `value` only where it is stored.
__device__ __forceinline__ void make_now(float& value) {
  asm volatile("" : "+f"(value));
}

// Rows `row` and row + 8 of W, tokens `token` and the next, of which there are `tokens`: sums.x and
// sums.y are those of the first row.
template <bool kGateUp, typename Out>
__device__ __forceinline__ void store_four(const StreamParams& params, int64_t row, int token,
                                           int tokens, float4 sums, float2 scales) {
  const float first[2] = {sums.x * scales.x, sums.y * scales.y};
  const float second[2] = {sums.z * scales.x, sums.w * scales.y};
  // Groups of gate and up rows in turn: an output is that of the gate's row.
  const int64_t column =
      kGateUp ? row / (2 * kGateUpGroup) * kGateUpGroup + row % kGateUpGroup : row;
  Out* const to = static_cast<Out*>(params.out) + token * params.out_stride + column;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float value = first[i];
    if constexpr (kGateUp) {
      value = silu_for<Out>(value) * second[i];
      make_now(value);
    }
    if (token + i < tokens && column < params.rows) {
      to[i * params.out_stride] = from_float<Out>(value);
    }
    if (!kGateUp && token + i < tokens && column + 8 < params.rows) {
      to[i * params.out_stride + 8] = from_float<Out>(second[i]);
    }
  }
}

// A first round has no stages and stores nothing: behind it all blocks of a cluster have begun, and
// the code for the sums has been fetched while the first tiles come.
template <ProductResult kResult, int kTokens, int kTiles, typename Out>
__device__ void multiply_bands(const StreamRing<kTokens, kStreamPieces<kTiles>>& ring,
                               const StreamParams& params, StreamNormArea& area) {
  const StreamShare share(params);
  const int blocks = params.bands.blocks;
  const StreamResults<kTokens, kTiles> results{.area = ring.end,
                                               .received = shared_address(&area.received),
                                               .blocks = blocks,
                                               .rank = share.rank};
  const int warp = static_cast<int>(threadIdx.x) / kWarp % 4;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto row_of = [&](int j) { return tile_of<kTiles>(j) * kStreamTileRows + warp * 16; };
  RingPlace place;
  bool begin = true;
  for (int band = share.first; band < params.bands.count;) {
    const int64_t first_row = int64_t{band} * params.bands.rows + lane / 4;
    StreamSums<kTokens, kTiles> sums;
    multiply_stages<kTokens, kTiles>(ring, params, begin ? 0 : share.k_count, place, sums);
    if (!begin && band == share.first) {
      take_fetched();
    }
    const auto store = [&](int j, int p, float4 four) {
      if (row_of(j) < params.bands.rows) {
        const int token = p * 8 + lane % 4 * 2;
        store_four<kResult == ProductResult::kGateUp, Out>(
            params, first_row + row_of(j), token, begin ? 0 : params.M, four,
            begin ? float2{} : make_float2(area.scales[token], area.scales[token + 1]));
      }
    };
    if (blocks > 1) {
      results.template add_up<false>(sums, begin, store);
    } else {
      results.hand_out(sums, store);
    }
    band += begin ? 0 : share.step;
    begin = false;
  }
}

// The same of linear_norm's product: a cluster's one band.
template <int kTokens>
__device__ void multiply_norm_band(const StreamRing<kTokens, kStreamPieces<1>>& ring,
                                   const StreamParams& params, StreamNormArea& area) {
  const StreamShare share(params);
  const StreamResults<kTokens, 1> results{.area = ring.end,
                                          .received = shared_address(&area.received),
                                          .blocks = params.bands.blocks,
                                          .rank = share.rank};
  const int warp_row =
      tile_of<1>(0) * kStreamTileRows + static_cast<int>(threadIdx.x) / kWarp % 4 * 16;
  StreamNorm<kTokens> norm(params, share, warp_row, ring.end);
  norm.load_factors();
  RingPlace place;
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const bool begin = round == 0;
    const int tokens = begin ? 0 : params.M;
    StreamSums<kTokens, 1> sums;
    multiply_stages<kTokens, 1>(ring, params, begin ? 0 : share.k_count, place, sums);
    if (!begin) {
      take_fetched();
    }
    results.template add_up<true>(
        sums, begin, [&](int, int p, float4 four) { norm.put(p, four, tokens, area); });
    norm.end(tokens, area);
  }
}

}  // namespace deltaserve::cuda
