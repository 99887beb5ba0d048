// Loads, stores, reductions and the small functions that every kernel needs. X is float or
// __nv_bfloat16; arithmetic is float32 and a value is rounded once, when it is stored.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace deltaserve::cuda {

using bf16 = __nv_bfloat16;

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffU;

__device__ __forceinline__ float to_float(float x) {
  return x;
}
__device__ __forceinline__ float to_float(bf16 x) {
  return __bfloat162float(x);
}

__device__ __forceinline__ float to_float(__half x) {
  return __half2float(x);
}

template <typename X>
__device__ __forceinline__ X from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ bf16 from_float<bf16>(float x) {
  return __float2bfloat16_rn(x);
}

// The two bfloat16 of a 32-bit word, low half first, and back (round to nearest even).
__device__ __forceinline__ float2 unpack_bf16(uint32_t word) {
  return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000U));
}
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

// N consecutive values as float32; `from` is aligned to N elements (8 at most for bf16, 4 for
// float: 16 bytes; more is several loads).
template <int N>
__device__ __forceinline__ void load(const float* from, float (&to)[N]) {
  static_assert(N % 4 == 0);
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    const float4 part = *reinterpret_cast<const float4*>(from + i);
    to[i] = part.x;
    to[i + 1] = part.y;
    to[i + 2] = part.z;
    to[i + 3] = part.w;
  }
}
template <int N>
__device__ __forceinline__ void load(const bf16* from, float (&to)[N]) {
  static_assert(N == 4 || N % 8 == 0);
  if constexpr (N == 4) {
    const uint2 part = *reinterpret_cast<const uint2*>(from);
    const float2 a = unpack_bf16(part.x);
    const float2 b = unpack_bf16(part.y);
    to[0] = a.x;
    to[1] = a.y;
    to[2] = b.x;
    to[3] = b.y;
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 8) {
      const uint4 part = *reinterpret_cast<const uint4*>(from + i);
      const uint32_t words[4] = {part.x, part.y, part.z, part.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float2 pair = unpack_bf16(words[j]);
        to[i + 2 * j] = pair.x;
        to[i + 2 * j + 1] = pair.y;
      }
    }
  }
}

// The counterpart of `load`.
template <int N>
__device__ __forceinline__ void store(float* to, const float (&from)[N]) {
  static_assert(N % 4 == 0);
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    *reinterpret_cast<float4*>(to + i) =
        make_float4(from[i], from[i + 1], from[i + 2], from[i + 3]);
  }
}
template <int N>
__device__ __forceinline__ void store(bf16* to, const float (&from)[N]) {
  static_assert(N == 4 || N % 8 == 0);
  if constexpr (N == 4) {
    *reinterpret_cast<uint2*>(to) =
        make_uint2(pack_bf16(from[0], from[1]), pack_bf16(from[2], from[3]));
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 8) {
      *reinterpret_cast<uint4*>(to + i) =
          make_uint4(pack_bf16(from[i], from[i + 1]), pack_bf16(from[i + 2], from[i + 3]),
                     pack_bf16(from[i + 4], from[i + 5]), pack_bf16(from[i + 6], from[i + 7]));
    }
  }
}

// Sum or maximum over the `Lanes` lanes of an aligned group; every lane gets it.
template <int Lanes = kWarp>
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2) {
    x += __shfl_xor_sync(kAllLanes, x, offset);
  }
  return x;
}
template <int Lanes = kWarp>
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2) {
    x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, offset));
  }
  return x;
}

// Sum over a block of whole warps, in the same order always; every thread gets it. `partial` has
// room for 32 floats. Ends with a barrier, so that `partial` may be used again.
__device__ __forceinline__ float block_sum(float x, float* partial) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int num_warps = static_cast<int>(blockDim.x) / kWarp;
  x = warp_sum(x);
  if (lane == 0) {
    partial[warp] = x;
  }
  __syncthreads();
  x = warp_sum(lane < num_warps ? partial[lane] : 0.0F);
  __syncthreads();
  return x;
}

// Exact to float32's last bits: no fast-math forms.
__device__ __forceinline__ float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}
__device__ __forceinline__ float silu(float x) {
  return x / (1.0F + expf(-x));
}
// 2^x to a relative 2^-22; 0 of -infinity.
__device__ __forceinline__ float exp2_fast(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}
// silu for a result of X: where that is bfloat16, to some 2^-21 in a quarter of the instructions.
template <typename X>
__device__ __forceinline__ float silu_for(float x) {
  if constexpr (sizeof(X) == sizeof(float)) {
    return silu(x);
  } else {
    constexpr float kLog2E = 1.44269504F;
    float out;
    asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(out) : "f"(x), "f"(1.0F + exp2_fast(-kLog2E * x)));
    return out;
  }
}
// log(1 + exp(x)); above 20 it is x to float32's last bit.
__device__ __forceinline__ float softplus(float x) {
  return x > 20.0F ? x : log1pf(expf(x));
}

}  // namespace deltaserve::cuda
