// How the grouped products (moe_grouped.cu) leave a warpgroup's accumulators. Thread (g, t) holds
// rows g and g + 8 of a warp's sixteen of the matrix, for tokens 8 j + 2 t and the next.
// The down products are as many bytes as everything else of a layer together, and so they are kept
// as float16 with a power of two for every 32 values of a token (2^-12 relative to the largest).
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/mma_bf16.cuh"

namespace deltaserve::cuda {

inline constexpr int kMatrixRows = 256;  // of an expert's matrix that a thread block multiplies

struct GroupedOut {
  bf16* act;           // [entries][I], sorted by expert
  __half* down;        // [entries][H], by entry; of 16 columns in the order 0, 8, 1, 9, ..
  uint8_t* exponents;  // [entries][down_exponents(H)]
  int64_t I;
  int64_t H;
};

// One for the columns 128 i + 16 j .. + 15 and those 64 further, as 4 i + j.
__host__ __device__ constexpr int64_t down_exponents(int64_t H) {
  return (H + 127) / 128 * 4;
}
__device__ __forceinline__ int64_t down_exponent_of(int64_t h) {
  return h / 128 * 4 + h % 64 / 16;
}

// An exponent e, that of the largest value as float32 has it, stands for values stored times
// 2^(141 - e): below 2^15. Smaller ones than kLeastExponent are not scaled further, so that both
// factors are normal numbers.
inline constexpr uint32_t kLeastExponent = 15;
__device__ __forceinline__ float down_scale(uint32_t exponent) {
  return __uint_as_float((268 - exponent) << 23);
}
__device__ __forceinline__ float down_unscale(uint32_t exponent) {
  return __uint_as_float((exponent - 14) << 23);
}

// To a relative 2^-21, which is rounded to bfloat16 next.
__device__ __forceinline__ float silu_fast(float x) {
  constexpr float kLog2E = 1.4426950408889634F;
  return __fdividef(x, 1.0F + exp2_fast(-kLog2E * x));
}

// act[first + token][..] = silu(gate) * up of a warpgroup's 128 rows from `first_row` on.
template <int Blocks>
__device__ __forceinline__ void store_gate_up(const GroupedOut& out, int first, int tokens,
                                              int first_row, const float (&sums)[2][Blocks * 8]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp % 4;
#pragma unroll
  for (int b = 0; b < 2; ++b) {
    const int channel = first_row / 2 + b * 32 + warp * 8;
    if (channel < out.I) {
      bf16* to = out.act + (first + lane / 4) * out.I + channel + lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < 2 * Blocks; ++j) {
        const float* c = &sums[b][4 * j];
        const uint32_t pair =
            transpose_tile(pack_bf16(silu_fast(c[0]) * c[2], silu_fast(c[1]) * c[3]));
        if (8 * j + lane / 4 < tokens) {
          *reinterpret_cast<uint32_t*>(to + 8 * j * out.I) = pair;
        }
      }
    }
  }
}

// The larger of the absolute values of both tokens as bfloat16 bits, rounded down; NaN is largest.
__device__ __forceinline__ uint32_t largest_pair(const float* c) {
  const auto bits = [](float x) { return __float_as_uint(x) & 0x7fffffffU; };
  const uint32_t even = max(bits(c[0]), bits(c[2]));
  const uint32_t odd = max(bits(c[1]), bits(c[3]));
  return even >> 16 | (odd & 0xffff0000U);
}

// down[entry][..] of a warpgroup's 128 rows from `first_row` on, for entries[0 .. tokens).
template <int Blocks>
__device__ __forceinline__ void store_down(const GroupedOut& out, const int32_t* entries,
                                           int tokens, int first_row,
                                           const float (&sums)[2][Blocks * 8]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp % 4;
  const int64_t column = first_row + warp * 16 + lane / 4 * 2;
  const int64_t exponent_at = first_row / 128 * 4 + warp;
  if (first_row >= out.H) {
    return;
  }
  const bool both = first_row + 64 < out.H;
#pragma unroll
  for (int j = 0; j < 2 * Blocks; ++j) {
    const float* low = &sums[0][4 * j];
    const float* high = &sums[1][4 * j];
    uint32_t largest = largest_pair(low);
    if (both) {
      largest = __vmaxu2(largest, largest_pair(high));
    }
#pragma unroll
    for (int offset = 4; offset < kWarp; offset *= 2) {
      largest = __vmaxu2(largest, __shfl_xor_sync(kAllLanes, largest, offset));
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int token = 8 * j + lane % 4 * 2 + i;
      if (token < tokens) {
        const int64_t entry = entries[token];
        const uint32_t exponent = max(largest >> (7 + 16 * i) & 0xffU, kLeastExponent);
        const float scale = down_scale(exponent);
        __half* to = out.down + entry * out.H + column;
        *reinterpret_cast<__half2*>(to) = __floats2half2_rn(low[i] * scale, low[i + 2] * scale);
        if (both) {
          *reinterpret_cast<__half2*>(to + 64) =
              __floats2half2_rn(high[i] * scale, high[i + 2] * scale);
        }
        if (lane < 4) {
          out.exponents[entry * down_exponents(out.H) + exponent_at] =
              static_cast<uint8_t>(exponent);
        }
      }
    }
  }
}

}  // namespace deltaserve::cuda
