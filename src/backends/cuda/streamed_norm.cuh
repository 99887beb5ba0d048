// The norm's share of a streamed product (streamed_product.cu): the scale of its rows of x, and
// what becomes of sums that go to the residual (norm_scale.cuh).
#pragma once

#include <cstdint>

#include "backends/cuda/norm_scale.cuh"
#include "backends/cuda/streamed_exchange.cuh"
#include "backends/cuda/streamed_ring.cuh"

namespace deltaserve::cuda {

inline constexpr int kStreamWarps = kStreamConsumers / kWarp;

// Shared memory of a block: the barrier of StreamResults, scales of the rows of x, and squares of
// each warp's results by tokens.
struct StreamNormArea {
  uint64_t received;
  float scales[kMostStreamTokens];
  float squares[kStreamWarps][kMostStreamTokens];
};

// A warp fetches what results need beside sums, scales or the residual: memory that is busy with W
// answers late, and a warp that multiplies would wait for its own loads before it begins, since the
// compiler has none on the way in a loop. The first call says that it is in shared memory, the
// second waits for that; the fetching warp has waited for the kernels before this one by then, so
// that the others may store their results behind it.
__device__ __forceinline__ void give_fetched() {
  named_barrier_arrive<kStreamConsumers + kWarp>(2);
}
__device__ __forceinline__ void take_fetched() {
  named_barrier<kStreamConsumers + kWarp>(2);
}

// Scales of the rows of x, 1 where they lack none: a lane a row.
template <int kTokens>
__device__ __forceinline__ void find_scales(const StreamParams& params, StreamNormArea& area) {
  static_assert(kTokens <= kWarp);
  const int m = static_cast<int>(threadIdx.x) % kWarp;
  float scale = 1.0F;
  if (params.scale.squares != nullptr && m < params.M) {
    scale = scale_of(params.scale, squares_share(params.scale, m, 0, 1));
  }
  if (m < kTokens) {
    area.scales[m] = scale;
  }
  give_fetched();
}

// What a thread adds its sums to: of every four sums those of rows g and g + 8 of a warp's 16, two
// tokens. One tile a warpgroup, a cluster of two blocks and its one band.
template <int kTokens>
class StreamNorm {
 public:
  // Shared memory behind the ring: the results of two blocks, then the residual of this one's,
  // [kTokens / 2][rows of the band + 4], which lanes read from different banks.
  static constexpr int64_t kPlace = StreamResults<kTokens, 1>::bytes(2);
  static constexpr int64_t kEnd = kPlace + kTokens / 2 * (2 * kStreamTileRows + 4) * 4;

  // `warp_row`: the first row of this thread's warp in the band.
  __device__ __forceinline__ StreamNorm(const StreamParams& params, const StreamShare& share,
                                        int warp_row, uint32_t results)
      : params_(params),
        share_(share),
        band_row_(warp_row + static_cast<int>(threadIdx.x) % kWarp / 4),
        row_(int64_t{share.first} * params.bands.rows + band_row_),
        there_(warp_row < params.bands.rows && row_ < params.rows),
        memory_(results + static_cast<uint32_t>(kPlace)) {}

  // By all consuming warps, early: what does not depend on the kernel before.
  __device__ __forceinline__ void load_factors() {
    if (there_) {
      factors_[0] = 1.0F + params_.norm.weight[row_];
      factors_[1] = 1.0F + params_.norm.weight[row_ + 8];
    }
  }

  // By the fetching warp, four rows a lane.
  __device__ __forceinline__ void fetch_residual() const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int64_t row = int64_t{share_.first} * params_.bands.rows + lane * 4;
    const bool there = lane * 4 < params_.bands.rows && row < params_.rows;
#pragma unroll
    for (int i = 0; i < kTokens / 2; ++i) {
      const int token = i / 8 * 16 + share_.rank * 8 + i % 8;
      if (there && token < params_.M) {
        copy_async(place(i, lane * 4), params_.norm.residual + token * params_.rows + row);
      }
    }
    wait_for_copies();
    give_fetched();
  }

  // Takes the sums of eight of `tokens`; `p` is known when this is compiled.
  __device__ __forceinline__ void put(int p, float4 sums, int tokens, StreamNormArea& area) {
    const float values[4] = {sums.x, sums.y, sums.z, sums.w};
    float squares[2] = {};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int token = token_of(p) + i;
      if (!there_ || token >= tokens) {
        continue;
      }
      const int64_t at = token * params_.rows + row_;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint32_t before = place(p / 2 * 8 + token % 8, band_row_ + 8 * half);
        const float value = load_shared_float(before) + values[2 * half + i];
        params_.norm.residual[at + 8 * half] = value;
        params_.norm.out[at + 8 * half] = from_float<bf16>(value * factors_[half]);
        squares[i] += value * value;
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      // Over the lanes of a token: g counts in steps of four.
#pragma unroll
      for (int offset = 4; offset < kWarp; offset *= 2) {
        squares[i] += __shfl_xor_sync(kAllLanes, squares[i], offset);
      }
      if (threadIdx.x % kWarp < 4) {
        area.squares[threadIdx.x / kWarp][token_of(p) + i] = squares[i];
      }
    }
  }

  // Adds up the squares of this block's tokens: all consuming warps.
  __device__ __forceinline__ void end(int tokens, const StreamNormArea& area) const {
    named_barrier<kStreamConsumers>(1);
    const int token = static_cast<int>(threadIdx.x);
    if (token < tokens && takes(token / 8)) {
      float sum = 0.0F;
#pragma unroll
      for (int w = 0; w < kStreamWarps; ++w) {
        sum += area.squares[w][token];
      }
      params_.norm.squares[token * params_.bands.count + share_.first] = sum;
    }
  }

 private:
  __device__ __forceinline__ static int token_of(int p) {
    return p * 8 + static_cast<int>(threadIdx.x) % 4 * 2;
  }
  // Two blocks share out the tokens, eight in turn.
  __device__ __forceinline__ bool takes(int p) const {
    return p % 2 == share_.rank;
  }
  // Of this block's token i and a row of the band.
  __device__ __forceinline__ uint32_t place(int i, int row) const {
    return memory_ + (i * (params_.bands.rows + 4) + row) * 4;
  }

  const StreamParams& params_;
  const StreamShare& share_;
  int band_row_;  // this thread's row g
  int64_t row_;   // of W
  bool there_;
  uint32_t memory_;
  float factors_[2] = {};
};

}  // namespace deltaserve::cuda
