// The arithmetic of vision_attention_wgmma.cu: a warpgroup's two products with a tile and the
// running softmax between them.
#pragma once

#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/mma_bf16.cuh"
#include "backends/cuda/vision_wgmma_ring.cuh"
#include "backends/cuda/wgmma_values.cuh"
#include "backends/cuda/wgmma_wide.cuh"

namespace deltaserve::cuda {

// A thread's sums: rows g and g + 8 of its warp's 16.
struct VisionSums {
  float wide[32] = {};
  float tail[8] = {};
};

// The running softmax of the two rows of a thread, in units of 2^largest.
struct VisionSoftmax {
  float largest[2] = {-INFINITY, -INFINITY};
  float total[2] = {};  // of this thread's keys
};

// Starts S = Q K^T of a warpgroup's rows and a tile of keys.
template <int Dims>
__device__ __forceinline__ void start_scores(VisionShared<Dims>& shared, int group, int stage,
                                             float (&scores)[kVisionScores]) {
  const uint32_t query = shared_address(shared.query[group]);
  const uint32_t keys = shared_address(shared.keys[stage]);
  const uint64_t a = wgmma_operand(query, 16, 1024);
  const uint64_t b = wgmma_operand(keys, 16, 1024);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    wgmma_n128_shared(scores, a + 2 * k, b + 2 * k, k != 0);
  }
  if constexpr (kVisionTail<Dims>) {
    wgmma_n128_shared(scores, wgmma_operand_32(query + kVisionGroupRows * kVisionWideBytes, 256),
                      wgmma_operand_32(keys + kVisionTileKeys * kVisionWideBytes, 256), true);
  }
  wgmma_commit();
}

// Starts O += P V.
template <int Dims>
__device__ __forceinline__ void start_values(VisionShared<Dims>& shared, int stage,
                                             const uint32_t (&weights)[kVisionScores / 2],
                                             VisionSums& sums) {
  const uint32_t values = shared_address(shared.values[stage]);
  const uint64_t wide = wgmma_operand(values, 16, 1024);
#pragma unroll
  for (int k = 0; k < kVisionTileKeys / 16; ++k) {
    wgmma_n64_transposed(sums.wide, &weights[4 * k], wide + k * (16 * kVisionWideBytes >> 4));
  }
  if constexpr (kVisionTail<Dims>) {
    const uint64_t tail = wgmma_operand_32(values + kVisionTileKeys * kVisionWideBytes, 256);
#pragma unroll
    for (int k = 0; k < kVisionTileKeys / 16; ++k) {
      wgmma_n16_transposed(sums.tail, &weights[4 * k], tail + k * (16 * kVisionTailBytes >> 4));
    }
  }
  wgmma_commit();
}

template <int Dims>
__device__ __forceinline__ void pin_sums(VisionSums& sums) {
  pin(sums.wide);
  if constexpr (kVisionTail<Dims>) {
    pin(sums.tail);
  }
}

__device__ __forceinline__ void hide_keys(float (&scores)[kVisionScores], int valid) {
  const int column = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int i = 0; i < kVisionScores; ++i) {
    scores[i] = i / 4 * 8 + column + i % 2 < valid ? scores[i] : -INFINITY;
  }
}

// Turns scores into weights; `keep` is what earlier sums are to be multiplied by.
__device__ __forceinline__ void weigh(float (&scores)[kVisionScores], float scale_log2,
                                      VisionSoftmax& softmax, float (&keep)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float now = -INFINITY;
#pragma unroll
    for (int n = 0; n < kVisionTileKeys / 8; ++n) {
      now = fmaxf(now, fmaxf(scores[4 * n + 2 * i], scores[4 * n + 2 * i + 1]));
    }
    now = fmaxf(warp_max<4>(now) * scale_log2, softmax.largest[i]);
    keep[i] = exp2_fast(softmax.largest[i] - now);
    softmax.largest[i] = now;
    float total = 0.0F;
#pragma unroll
    for (int n = 0; n < kVisionTileKeys / 8; ++n) {
      float& a = scores[4 * n + 2 * i];
      float& b = scores[4 * n + 2 * i + 1];
      a = exp2_fast(__fmaf_rn(a, scale_log2, -now));
      b = exp2_fast(__fmaf_rn(b, scale_log2, -now));
      total += a + b;
    }
    softmax.total[i] = __fmaf_rn(softmax.total[i], keep[i], total);
  }
}

// Weights as the first operand of the second product.
__device__ __forceinline__ void pack_weights(uint32_t (&weights)[kVisionScores / 2],
                                             const float (&scores)[kVisionScores]) {
#pragma unroll
  for (int i = 0; i < kVisionScores / 2; ++i) {
    weights[i] = pack_bf16(scores[2 * i], scores[2 * i + 1]);
  }
}

template <int Dims>
__device__ __forceinline__ void scale_sums(VisionSums& sums, const float (&keep)[2]) {
  if (!__any_sync(kAllLanes, keep[0] != 1.0F || keep[1] != 1.0F)) {
    return;
  }
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    sums.wide[i] *= keep[i / 2 % 2];
  }
  if constexpr (kVisionTail<Dims>) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sums.tail[i] *= keep[i / 2 % 2];
    }
  }
}

}  // namespace deltaserve::cuda
