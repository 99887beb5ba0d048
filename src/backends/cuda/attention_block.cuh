// The arithmetic of attention_decode.cu: one warp, one KV block of 16 keys in shared memory, and up
// to 8 query heads a tile. Products are transposed so that the query heads of a kv head are the 8
// columns of the tensor core's tile and no row of it is wasted:
//   S^T [16 keys, heads] = K Q^T,  O^T [256, heads] += V^T P^T.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/attention_warp_sum.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/mma_bf16.cuh"
#include "ops/args.h"

namespace deltaserve::cuda {

// Q of a row's query heads as the second operand: lane (g, t) holds dimensions 16 k + 2t.. and + 8
// of head g of each tile; heads beyond the group are zero.
template <int kTiles>
__device__ void load_query(const AttentionArgs& args, int64_t t, int kv_head,
                           uint32_t (&query)[kTiles][kHeadDim / 16][2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = args.num_heads / args.num_kv_heads;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const int head = n * kColumns + lane / 4;
    const auto* from = reinterpret_cast<const uint32_t*>(
        static_cast<const bf16*>(args.q) + t * args.q_stride +
        (int64_t{kv_head} * group + min(head, group - 1)) * args.q_head_stride);
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint32_t word = from[8 * k + 4 * half + lane % 4];
        query[n][k][half] = head < group ? word : 0U;
      }
    }
  }
}

// Scores of one block of keys, keys as the first operand: s [16 keys][8 heads] a tile.
template <int kTiles>
__device__ void score_block(uint32_t keys, const uint32_t (&query)[kTiles][kHeadDim / 16][2],
                            float (&scores)[kTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int row = lane % 8 + lane / 8 % 2 * 8;
  float parts[2][kTiles][4] = {};  // even and odd steps: two chains instead of one
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; ++k) {
    const int piece = k % 4 * 2 + lane / 16;
    uint32_t a[4];
    load_tiles(a, keys + k / 4 * kTileBytes + row * 128 + (piece ^ (row % 8)) * 16);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      mma_bf16(parts[k % 2][n], a[0], a[1], a[2], a[3], query[n][k][0], query[n][k][1]);
    }
  }
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scores[n][i] = parts[0][n][i] + parts[1][n][i];
    }
  }
}

// Takes one block into the running softmax; `valid` of its 16 keys count.
template <int kTiles>
__device__ void add_block(uint32_t stage, int valid, float scale_log2,
                          const uint32_t (&query)[kTiles][kHeadDim / 16][2], WarpSum<kTiles>& sum) {
  float scores[kTiles][4];
  score_block<kTiles>(stage, query, scores);
  uint32_t weights[kTiles][2];
  float keep[kTiles][2];
  if (__any_sync(kAllLanes, weigh_block(scores, valid, scale_log2, sum, weights, keep))) {
    rescale(keep, sum);
  }
  add_values(stage + kHalfBytes, weights, sum);
}

// Zeroes the values of tokens that are not there yet: a weight of 0 does not cover a NaN that an
// earlier owner of the block left.
__device__ __forceinline__ void clear_values(std::byte* stage, int valid) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int row = valid; row < kBlockSize; ++row) {
    std::byte* at = stage + kHalfBytes + lane / 8 * kTileBytes + row * 128 + lane % 8 * 16;
    *reinterpret_cast<uint4*>(at) = make_uint4(0, 0, 0, 0);
  }
  async_proxy_fence();
  __syncwarp();
}

}  // namespace deltaserve::cuda
