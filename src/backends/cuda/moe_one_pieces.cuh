// Weights of one token's experts as pieces in a warp's registers, and what becomes of their sums.
#pragma once

#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/mma_bf16.cuh"
#include "backends/cuda/moe_one_meeting.cuh"
#include "backends/cuda/moe_one_shape.cuh"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve::cuda {

// 16 rows of 64 columns, as skinny_tile.cuh has them: rows g and g + 8, 16-byte parts t and t + 4.
using WeightPiece = uint4[2][2];
using WeightRing = WeightPiece[kOneRingPieces];

// `at`: this lane's place in row g of a matrix of `columns`.
__device__ __forceinline__ void load_piece(const bf16* at, int64_t columns, WeightPiece& to) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[i / 2][i % 2] = load_once(at + i / 2 * 8 * columns + i % 2 * (kSkinnyPiece / 2));
  }
}

// sums += the piece times 64 of x, `x` being this lane's place among them. Only lanes 0 to 3 have a
// column.
__device__ __forceinline__ void multiply_piece(const WeightPiece& w, const bf16* x,
                                               float (&sums)[4]) {
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    uint4 b = make_uint4(0, 0, 0, 0);
    if (threadIdx.x % kWarp < 4) {
      b = *reinterpret_cast<const uint4*>(x + p * (kSkinnyPiece / 2));
    }
    const uint4& l = w[0][p];
    const uint4& h = w[1][p];
    mma_bf16(sums, l.x, h.x, l.y, h.y, b.x, b.y);
    mma_bf16(sums, l.z, h.z, l.w, h.w, b.z, b.w);
  }
}

// The sums' only column: a chain's part of 16 rows.
__device__ __forceinline__ void keep_chain(const float (&sums)[4], float (&chain)[kSkinnyRows]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane % 4 == 0) {
    chain[lane / 4] = sums[0];
    chain[lane / 4 + 8] = sums[2];
  }
}

template <int Chains>
__device__ __forceinline__ float add_chains(const float (&chains)[Chains][kSkinnyRows], int row) {
  float sum = 0.0F;
#pragma unroll
  for (int c = 0; c < Chains; ++c) {
    sum += chains[c][row];
  }
  return sum;
}

// Eight rows of act of a tile, `chains` being its gate and up, from `place` on; by one warp.
template <int Chains>
__device__ __forceinline__ void publish_act(const float (&chains)[Chains][kSkinnyRows],
                                            MeetingWord* place, uint32_t launch) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const float sum = add_chains(chains, lane % kSkinnyRows);
  const float up = __shfl_down_sync(kAllLanes, sum, kGateUpGroup);
  const float value = silu(sum) * up;
  const float next = __shfl_down_sync(kAllLanes, value, 1);
  if (lane < static_cast<int>(kGateUpGroup) && lane % 2 == 0) {
    publish(place + lane / 2, launch, pack_bf16(value, next));
  }
}

}  // namespace deltaserve::cuda
