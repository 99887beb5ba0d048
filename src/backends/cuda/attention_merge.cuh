// Where the parts of a decoded row meet: its warps' results in shared memory, its splits' in
// registers, merged in their order, and what is made of the sum (division, gate). Where splits meet
// in memory (attention_slices.cuh) or in a cluster (rope_attention.cu), the bits are the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/attention_block.cuh"
#include "backends/cuda/attention_splits.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "ops/args.h"

namespace deltaserve::cuda {

inline constexpr int kDecodeThreads = kDecodeWarps * kWarp;
inline constexpr int kTileFloats = kHeadDim * kColumns;            // O^T of one tile of heads
inline constexpr int kValues = kTileFloats / kDecodeThreads;       // of which a thread merges 16
inline constexpr int kPartialFloats = kTileFloats + 2 * kColumns;  // O^T, maxima, sums

// Tiles of 8 query heads; ring stages of a warp, as many as shared memory has room for.
template <int kTiles>
inline constexpr int kStages = kTiles == 1 ? 3 : 2;

template <int kTiles>
struct DecodeShared {
  alignas(128) std::byte ring[kDecodeWarps][kStages<kTiles>][2 * kHalfBytes];
  float sums[kDecodeWarps][kTiles][kTileFloats];  // [256][8 heads]
  float largest[kDecodeWarps][kTiles][kColumns];
  float totals[kDecodeWarps][kTiles][kColumns];
  uint64_t landed[kDecodeWarps][kStages<kTiles>];
};

struct DecodeParams {
  AttentionArgs args;
  BatchView batch;
  float scale_log2;
  float* partials;    // [rows][kv heads][kMaxSplits][tiles][kPartialFloats]
  int32_t* counters;  // [rows][kv heads], zero between launches
};

// The softmax state of one head in one thread: some dimensions of O, in units of 2^largest.
template <int kDimensions>
struct SoftmaxSum {
  float largest;
  float total;
  float values[kDimensions];

  // Adds a later part of the keys.
  __device__ void merge(const SoftmaxSum& part) {
    const float now = fmaxf(largest, part.largest);
    const float keep = exp2_fast(largest - now);
    const float take = exp2_fast(part.largest - now);
    largest = now;
    // Fused where it says so: two places that inline this must give the same bits.
    total = __fmaf_rn(total, keep, __fmul_rn(part.total, take));
#pragma unroll
    for (int i = 0; i < kDimensions; ++i) {
      values[i] = __fmaf_rn(values[i], keep, __fmul_rn(part.values[i], take));
    }
  }
};
using HeadSum = SoftmaxSum<kValues>;

// Sums the results of kDecodeWarps warps in their order, where each has all dimensions, or of twice
// as many, of which warp and warp + kDecodeWarps have half of them each. Of N threads thread i gets
// head i % 8 of each tile, dimensions i / 8 + N / 8 j. `shared` has the sums, largest and totals of
// DecodeShared.
template <int kTiles, typename Shared, int kDims16, int kDimensions>
__device__ void merge_warps(Shared& shared, WarpSum<kTiles, kDims16>& sum,
                            SoftmaxSum<kDimensions> (&merged)[kTiles]) {
  constexpr int kThreads = kTileFloats / kDimensions;
  static_assert(kThreads / kWarp * kDims16 == kDecodeWarps * kHeadDim / 16);
  const int warp = static_cast<int>(threadIdx.x) / kWarp % kDecodeWarps;
  const int part = static_cast<int>(threadIdx.x) / kDecodeThreads;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int column = lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int offset = 4; offset < kWarp; offset *= 2) {
        sum.total[n][i] += __shfl_xor_sync(kAllLanes, sum.total[n][i], offset);
      }
      if (lane < 4 && part == 0) {
        shared.largest[warp][n][column + i] = sum.largest[n][i];
        shared.totals[warp][n][column + i] = sum.total[n][i];
      }
    }
#pragma unroll
    for (int m = 0; m < kDims16; ++m) {
      float* to = &shared.sums[warp][n][((part * kDims16 + m) * 16 + lane / 4) * kColumns + column];
      *reinterpret_cast<float2*>(to) = make_float2(sum.out[n][m][0], sum.out[n][m][1]);
      *reinterpret_cast<float2*>(to + 8 * kColumns) =
          make_float2(sum.out[n][m][2], sum.out[n][m][3]);
    }
  }
  __syncthreads();
  const int head = static_cast<int>(threadIdx.x) % kColumns;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    float largest = shared.largest[0][n][head];
#pragma unroll
    for (int w = 1; w < kDecodeWarps; ++w) {
      largest = fmaxf(largest, shared.largest[w][n][head]);
    }
    SoftmaxSum<kDimensions>& head_sum = merged[n];
    head_sum.largest = largest;
    head_sum.total = 0.0F;
#pragma unroll
    for (int i = 0; i < kDimensions; ++i) {
      head_sum.values[i] = 0.0F;
    }
#pragma unroll
    for (int w = 0; w < kDecodeWarps; ++w) {
      const float take = exp2_fast(shared.largest[w][n][head] - largest);
      head_sum.total = __fmaf_rn(shared.totals[w][n][head], take, head_sum.total);
#pragma unroll
      for (int i = 0; i < kDimensions; ++i) {
        head_sum.values[i] =
            __fmaf_rn(shared.sums[w][n][threadIdx.x + i * kThreads], take, head_sum.values[i]);
      }
    }
  }
  __syncthreads();
}

// Divides, applies the gate and stores a row's heads of one kv head.
template <int kTiles>
__device__ void finish(DecodeShared<kTiles>& shared, const AttentionArgs& args, int64_t t,
                       int kv_head, const HeadSum (&sums)[kTiles]) {
  const int group = args.num_heads / args.num_kv_heads;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      shared.sums[0][n][threadIdx.x + i * kDecodeThreads] = sums[n].values[i] / sums[n].total;
    }
  }
  __syncthreads();
  constexpr int kPieces = kHeadDim / 8;
  for (int i = static_cast<int>(threadIdx.x); i < group * kPieces; i += kDecodeThreads) {
    const int head = i / kPieces;
    const int dim = i % kPieces * 8;
    const int64_t query_head = int64_t{kv_head} * group + head;
    float out[8];
    load(static_cast<const bf16*>(args.gate) + t * args.q_stride + query_head * args.q_head_stride +
             dim,
         out);
#pragma unroll
    for (int d = 0; d < 8; ++d) {
      const float mean = shared.sums[0][head / kColumns][(dim + d) * kColumns + head % kColumns];
      out[d] = mean * sigmoid(out[d]);
    }
    store(static_cast<bf16*>(args.out) + t * args.out_stride + query_head * kHeadDim + dim, out);
  }
  __syncthreads();
}

}  // namespace deltaserve::cuda
