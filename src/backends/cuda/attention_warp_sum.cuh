// One warp's running softmax in attention of decoded rows, in the registers of the tensor core's
// accumulators, and how a KV block's scores and values enter it.
#pragma once

#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/mma_bf16.cuh"

namespace deltaserve::cuda {

inline constexpr int kHeadDim = kTensorHeadDim;
inline constexpr int kColumns = 8;                            // query heads of a tile
inline constexpr int kHalfBytes = kBlockSize * kHeadDim * 2;  // K, or V, of a block and head
inline constexpr int kTileBytes = kBlockSize * 128;           // 64 dimensions of it

// One warp's softmax over the KV blocks it has seen, for kDims16 times 16 dimensions of V; lane
// (g, t) serves heads 2t and 2t + 1.
template <int kTiles, int kDims16 = kHeadDim / 16>
struct WarpSum {
  float largest[kTiles][2];
  float total[kTiles][2];  // of this lane's keys
  float out[kTiles][kDims16][4];

  __device__ void reset() {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      largest[n][0] = largest[n][1] = -INFINITY;
      total[n][0] = total[n][1] = 0.0F;
#pragma unroll
      for (int m = 0; m < kDims16; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          out[n][m][i] = 0.0F;
        }
      }
    }
  }
};

// Takes the scores of one block, of whose 16 keys `valid` count, into the running maxima and sums.
// Leaves the weights P^T, keys 0-7 and 8-15 as rows of the second operand, and the factors of what
// was summed before; returns whether one of this lane's is not 1.
template <int kTiles, int kDims16>
__device__ __forceinline__ bool weigh_block(float (&scores)[kTiles][4], int valid, float scale_log2,
                                            WarpSum<kTiles, kDims16>& sum,
                                            uint32_t (&weights)[kTiles][2],
                                            float (&keep)[kTiles][2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  bool rescale = false;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = lane / 4 + i / 2 * 8;
      scores[n][i] = key < valid ? __fmul_rn(scores[n][i], scale_log2) : -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float now = fmaxf(scores[n][i], scores[n][i + 2]);
#pragma unroll
      for (int offset = 4; offset < kWarp; offset *= 2) {
        now = fmaxf(now, __shfl_xor_sync(kAllLanes, now, offset));
      }
      now = fmaxf(now, sum.largest[n][i]);
      keep[n][i] = exp2_fast(sum.largest[n][i] - now);
      rescale |= now != sum.largest[n][i];
      sum.largest[n][i] = now;
      scores[n][i] = exp2_fast(scores[n][i] - now);
      scores[n][i + 2] = exp2_fast(scores[n][i + 2] - now);
      // Fused where it says so: all that inline this must give the same bits.
      sum.total[n][i] = __fmaf_rn(sum.total[n][i], keep[n][i], scores[n][i] + scores[n][i + 2]);
    }
    weights[n][0] = transpose_tile(pack_bf16(scores[n][0], scores[n][1]));
    weights[n][1] = transpose_tile(pack_bf16(scores[n][2], scores[n][3]));
  }
  return rescale;
}

template <int kTiles, int kDims16>
__device__ __forceinline__ void rescale(const float (&keep)[kTiles][2],
                                        WarpSum<kTiles, kDims16>& sum) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int m = 0; m < kDims16; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sum.out[n][m][i] *= keep[n][i % 2];
      }
    }
  }
}

// O^T += V^T P^T, for the dimensions from those of the tile at `values` on.
template <int kTiles, int kDims16>
__device__ __forceinline__ void add_values(uint32_t values, const uint32_t (&weights)[kTiles][2],
                                           WarpSum<kTiles, kDims16>& sum) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int row = lane % 8 + lane / 16 * 8;  // a key; the tile is transposed on its way
#pragma unroll
  for (int m = 0; m < kDims16; ++m) {
    const int piece = m % 4 * 2 + lane / 8 % 2;
    uint32_t a[4];
    load_tiles_transposed(a, values + m / 4 * kTileBytes + row * 128 + (piece ^ (row % 8)) * 16);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      mma_bf16(sum.out[n][m], a[0], a[1], a[2], a[3], weights[n][0], weights[n][1]);
    }
  }
}

}  // namespace deltaserve::cuda
