// Numbers as kernels have them in memory and as they compute with them: X is float or
// __nv_bfloat16, arithmetic is float32. Loads and stores of several at once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

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

// Four neighbouring values as they lie in memory: nothing waits for them before numbers_of.
template <typename X>
using FourOf = std::conditional_t<sizeof(X) == sizeof(float), float4, uint2>;

template <typename X>
__device__ __forceinline__ FourOf<X> load_as_is(const X* from) {
  return *reinterpret_cast<const FourOf<X>*>(from);
}
__device__ __forceinline__ void numbers_of(const float4& four, float (&to)[4]) {
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
__device__ __forceinline__ void numbers_of(const uint2& four, float (&to)[4]) {
  const float2 low = unpack_bf16(four.x);
  const float2 high = unpack_bf16(four.y);
  to[0] = low.x;
  to[1] = low.y;
  to[2] = high.x;
  to[3] = high.y;
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
    numbers_of(load_as_is(from), to);
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

}  // namespace deltaserve::cuda
