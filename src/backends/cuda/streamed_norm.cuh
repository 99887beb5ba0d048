// The norm's share of a streamed product (streamed_product.cu): the scale of its rows of x, and
// what becomes of sums that go to the residual (norm_scale.cuh).
#pragma once

#include <cstdint>

#include "backends/cuda/norm_scale.cuh"
#include "backends/cuda/streamed_ring.cuh"
#include "backends/cuda/streamed_sums.cuh"

namespace deltaserve::cuda {

inline constexpr int kStreamWarps = kStreamConsumers / kWarp;

// Shared memory of a block: the barrier of StreamResults, scales of the rows of x, and squares of
// each warp's results by tokens.
struct StreamNormArea {
  uint64_t received;
  float scales[kMostStreamTokens];
  float squares[kStreamWarps][kMostStreamTokens];
};

inline constexpr int kMostScaleParts = 4 * kWarp;  // a float4 a lane

// Finds the scales of the M rows of x, 1 where they lack none: each consuming warp those of every
// eighth row. Memory that is busy with W answers late, so all squares are asked for at once, and
// nobody waits for them before the first products.
template <int kTokens>
class StreamScales {
 public:
  // So many stages behind ask() the squares have come.
  static constexpr int kStages = 8;

  // Behind wait_for_previous().
  __device__ __forceinline__ void ask(const StreamParams& params) {
    const NormScale& scale = params.scale;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (scale.squares != nullptr && row(i) < params.M && lane() < scale.parts / 4) {
        const float* squares = scale.squares + int64_t{row(i)} * scale.parts;
        parts_[i] = reinterpret_cast<const float4*>(squares)[lane()];
      }
    }
  }

  // Ends with the consuming warps' barrier.
  __device__ __forceinline__ void find(const StreamParams& params, StreamNormArea& area) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float4 part = parts_[i];
      const float sum = warp_sum((part.x + part.y) + (part.z + part.w));
      if (lane() == i) {
        area.scales[row(i)] = sum;
      }
    }
    __syncwarp();
    if (lane() < kRows) {
      const int m = row(lane());
      const bool lacks = params.scale.squares != nullptr && m < params.M;
      area.scales[m] = lacks ? scale_of(params.scale, area.scales[m]) : 1.0F;
    }
    named_barrier<kStreamConsumers>(1);
  }

 private:
  static constexpr int kRows = kTokens / kStreamWarps;

  __device__ __forceinline__ static int lane() {
    return static_cast<int>(threadIdx.x) % kWarp;
  }
  __device__ __forceinline__ static int row(int i) {
    return static_cast<int>(threadIdx.x) / kWarp + i * kStreamWarps;
  }

  float4 parts_[kRows] = {};
};

// What a thread adds its sums to: of every four sums those of rows g and g + 8 of a warp's 16, two
// tokens. One tile a warpgroup, and a cluster of at most two blocks, which share out the tokens.
template <int kTokens>
class StreamNorm {
 public:
  static constexpr int kFours = kTokens / 8;

  // `row`: this thread's row g. Asks for the residual.
  __device__ __forceinline__ StreamNorm(const StreamParams& params, const StreamShare& share,
                                        int64_t row, bool there)
      : params_(params), row_(row), there_(there) {
    if (!there) {
      return;
    }
    factors_[0] = 1.0F + params.norm.weight[row];
    factors_[1] = 1.0F + params.norm.weight[row + 8];
#pragma unroll
    for (int p = 0; p < kFours; ++p) {
      if (p % params.bands.blocks != share.rank) {
        continue;
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int token = token_of(p) + i;
        if (token < params.M) {
          const float* from = params.norm.residual + token * params.rows + row;
          residual_[p][i] = from[0];
          residual_[p][2 + i] = from[8];
        }
      }
    }
  }

  // Takes the sums of eight tokens; `p` is known when this is compiled.
  __device__ __forceinline__ void put(int p, float4 sums, StreamNormArea& area) {
    const float values[4] = {sums.x, sums.y, sums.z, sums.w};
    float squares[2] = {};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int token = token_of(p) + i;
      if (!there_ || token >= params_.M) {
        continue;
      }
      const int64_t at = token * params_.rows + row_;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float value = residual_[p][2 * half + i] + values[2 * half + i];
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
  __device__ __forceinline__ void end(const StreamShare& share, int band, int tokens,
                                      const StreamNormArea& area) const {
    named_barrier<kStreamConsumers>(1);
    const int token = static_cast<int>(threadIdx.x);
    if (token < tokens && token / 8 % params_.bands.blocks == share.rank) {
      float sum = 0.0F;
#pragma unroll
      for (int w = 0; w < kStreamWarps; ++w) {
        sum += area.squares[w][token];
      }
      params_.norm.squares[token * params_.bands.count + band] = sum;
    }
  }

 private:
  __device__ __forceinline__ static int token_of(int p) {
    return p * 8 + static_cast<int>(threadIdx.x) % 4 * 2;
  }

  const StreamParams& params_;
  int64_t row_;
  bool there_;
  float factors_[2] = {};
  float residual_[kFours][4] = {};
};

}  // namespace deltaserve::cuda
