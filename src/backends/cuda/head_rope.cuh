// The norm and rotation of a q or k head by a warp, 8 dimensions a lane, and the lane's place in
// the cache. The normed head passes through shared memory because rotate-half pairs dimensions that
// different lanes hold.
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/kv_layout.h"
#include "ops/args.h"

namespace deltaserve::cuda {

inline constexpr int kMaxHeadDim = 256;
inline constexpr int kDims = static_cast<int>(kKvPiece);  // of a lane
static_assert(kMaxHeadDim == kDims * kWarp);

struct Rotation {
  alignas(16) float cosine[kMaxHeadDim / 2];
  alignas(16) float sine[kMaxHeadDim / 2];
};

// Angle number j; `factor` is YaRN's.
__device__ __forceinline__ void set_rotation(Rotation& rotation, int j, float angle, float factor) {
  float s;
  float c;
  sincosf(angle, &s, &c);
  rotation.cosine[j] = c * factor;
  rotation.sine[j] = s * factor;
}

// Rotates this lane's dimensions of the normed head in `row`.
__device__ __forceinline__ void rotate(float (&x)[kDims], int first, int half,
                                       const Rotation& rotation, const float* row) {
#pragma unroll
  for (int i = 0; i < kDims; ++i) {
    const int d = first + i;
    // Fused where it says so: all forms must give the same bits.
    if (d < half) {
      x[i] = __fmaf_rn(x[i], rotation.cosine[d], -__fmul_rn(row[d + half], rotation.sine[d]));
    } else if (d < 2 * half) {
      x[i] = __fmaf_rn(x[i], rotation.cosine[d - half],
                       __fmul_rn(row[d - half], rotation.sine[d - half]));
    }
  }
}

// The same if `half` is a multiple of a lane's dimensions.
__device__ __forceinline__ void rotate_whole(float (&x)[kDims], int first, int half,
                                             const Rotation& rotation, const float* row) {
  const bool low = first < half;
  const int angle = low ? first : first - half;
  float other[kDims];
  float cosine[kDims];
  float sine[kDims];
  load(row + (low ? first + half : angle), other);
  load(rotation.cosine + angle, cosine);
  load(rotation.sine + angle, sine);
#pragma unroll
  for (int i = 0; i < kDims; ++i) {
    const float turned = __fmul_rn(other[i], sine[i]);
    x[i] = __fmaf_rn(x[i], cosine[i], low ? -turned : turned);
  }
}

// This lane's 8 of each head's dimensions from x[h] on, normed and rotated. `rows`
// [kHeads][head_dim] are the warp's scratch. Lanes beyond the head are not `active`; all of the
// warp call it.
template <bool kWhole, int kHeads>
__device__ __forceinline__ void norm_and_rotate(float (&x)[kHeads][kDims],
                                                const float (&factors)[kHeads][kDims], bool active,
                                                int head_dim, int half, float eps,
                                                const Rotation& rotation, float* rows) {
  const int first = static_cast<int>(threadIdx.x) % kWarp * kDims;
  const bool rotated = active && first < 2 * half;
  float sums[kHeads] = {};
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
#pragma unroll
    for (const float value : x[h]) {
      sums[h] += value * value;
    }
  }
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      sums[h] += __shfl_xor_sync(kAllLanes, sums[h], offset);
    }
  }
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    const float scale = rsqrtf(sums[h] / static_cast<float>(head_dim) + eps);
#pragma unroll
    for (int i = 0; i < kDims; ++i) {
      x[h][i] *= scale * (1.0F + factors[h][i]);
    }
    if (rotated) {
      store(rows + h * kMaxHeadDim + first, x[h]);
    }
  }
  __syncwarp();
  if (rotated) {
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      if constexpr (kWhole) {
        rotate_whole(x[h], first, half, rotation, rows + h * kMaxHeadDim);
      } else {
        rotate(x[h], first, half, rotation, rows + h * kMaxHeadDim);
      }
    }
  }
}

// This lane's place in the cache for K or V of a head of token t.
template <typename X, bool kSwizzled>
__device__ __forceinline__ X* cache_place(const WriteKvArgs& args, int64_t slot, bool value,
                                          int64_t head) {
  const int64_t piece = threadIdx.x % kWarp;
  return static_cast<X*>(args.kv_cache) +
         kv_base(slot / kBlockSize, value, head, args.num_kv_heads, args.head_dim) +
         kv_piece<kSwizzled>(slot % kBlockSize, piece, args.head_dim);
}

}  // namespace deltaserve::cuda
