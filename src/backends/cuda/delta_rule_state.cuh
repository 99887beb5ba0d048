// The state of the delta rule while a warpgroup carries it: 64 value columns S [64 x dk] in float32
// accumulators, beside them what the products of a chunk need (see delta_rule_chain.cuh).
#pragma once

#include "backends/cuda/delta_rule_operand.cuh"

namespace deltaserve::cuda {

inline constexpr int kColumns = 64;  // value columns of a warpgroup

// A thread's part, rows r and r + 8 of the warpgroup's 64 in accumulator layout. With float16
// operands a row, which is a value column of the layer, is held times a power of two that is chosen
// anew for every chunk (see fit_scales); what is made from it, X, Y, U and Z, has the same factor.
template <typename Operand>
struct ChainRegisters {
  float S[64];
  uint32_t packed_state[32];  // S as operand
  float XY[64];               // S K^T and S Q^T
  float UZ[64];               // new values, and their part of the output
  uint32_t scale[2];          // bits of the factors of rows r and r + 8; float16 only
};

inline constexpr uint32_t kOneBits = 127U << 23;

// The inverse of a power of two, by its bits.
__device__ __forceinline__ float inverse_scale(uint32_t scale) {
  return __uint_as_float(2 * kOneBits - scale);
}

// S times a power of two a row as operand.
template <typename Operand>
__device__ __forceinline__ void pack_state(ChainRegisters<Operand>& x, float low = 1.0F,
                                           float high = 1.0F) {
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const float scale = i % 2 == 0 ? low : high;
    x.packed_state[i] = kScaled<Operand> ? pack<Operand>(x.S[2 * i] * scale, x.S[2 * i + 1] * scale)
                                         : pack<Operand>(x.S[2 * i], x.S[2 * i + 1]);
  }
}

// The largest magnitude of a row of S and of the chunk's values in it decides the row's new factor:
// it becomes 16 to 32. With |k| <= 1 and |T'_ij| <= 1 then |W| < 400, |U| < 26,000, and twice that
// with the factors of K: float16 ends at 65,504. Returns how the factors change.
template <typename Operand>
__device__ __forceinline__ float2 fit_scales(ChainRegisters<Operand>& x, const uint32_t (&V)[16]) {
  float change[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float most = 0.0F;
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      most = fmaxf(most, fmaxf(fabsf(x.S[4 * j + 2 * i]), fabsf(x.S[4 * j + 2 * i + 1])));
    }
    const float inverse = inverse_scale(x.scale[i]);
    most *= inverse;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float2 v = unpack_bf16(V[2 * j + i]);
      most = fmaxf(most, fmaxf(fabsf(v.x), fabsf(v.y)));
    }
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
    // 2^(4 - e) for most in [2^e, 2^(e + 1)); the inverse must be a normal number, too.
    constexpr uint32_t kLargest = 253;
    const uint32_t exponent = 2 * 127 + 4 - (__float_as_uint(most) >> 23);
    x.scale[i] = min(exponent, kLargest) << 23;
    change[i] = __uint_as_float(x.scale[i]) * inverse;
  }
  return make_float2(change[0], change[1]);
}

// `row`: of this thread's first row of the state, its first column there.
template <typename Operand>
__device__ __forceinline__ void load_state(ChainRegisters<Operand>& x, const float* row,
                                           bool zero) {
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    float2 a = make_float2(0.0F, 0.0F);
    float2 b = a;
    if (!zero) {
      a = *reinterpret_cast<const float2*>(row + 8 * j);
      b = *reinterpret_cast<const float2*>(row + 8 * kDeltaDim + 8 * j);
    }
    x.S[4 * j] = a.x;
    x.S[4 * j + 1] = a.y;
    x.S[4 * j + 2] = b.x;
    x.S[4 * j + 3] = b.y;
  }
  if constexpr (kScaled<Operand>) {
    x.scale[0] = kOneBits;
    x.scale[1] = kOneBits;
  } else {
    pack_state(x);
  }
}

template <typename Operand>
__device__ __forceinline__ void store_state(const ChainRegisters<Operand>& x, float* row) {
  const float low = kScaled<Operand> ? inverse_scale(x.scale[0]) : 1.0F;
  const float high = kScaled<Operand> ? inverse_scale(x.scale[1]) : 1.0F;
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    *reinterpret_cast<float2*>(row + 8 * j) = make_float2(x.S[4 * j] * low, x.S[4 * j + 1] * low);
    *reinterpret_cast<float2*>(row + 8 * kDeltaDim + 8 * j) =
        make_float2(x.S[4 * j + 2] * high, x.S[4 * j + 3] * high);
  }
}

}  // namespace deltaserve::cuda
