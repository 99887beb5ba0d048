// What the chunked delta rule's products are made of: bfloat16, or float16 for the precise form.
// bfloat16 has the range of float32. For float16 what can leave its range carries an exact power of
// two, a row at a time: rows of K and Q one that makes them at most 1 long, which the float32
// factors of a chunk take back; value columns of the state as delta_rule_state.cuh says.
#pragma once

#include <cuda_fp16.h>

#include <type_traits>

#include "backends/cuda/delta_rule_chunks.cuh"
#include "backends/cuda/mma.cuh"

namespace deltaserve::cuda {

template <typename Operand>
inline constexpr bool kScaled = std::is_same_v<Operand, __half>;

template <typename Operand>
__device__ __forceinline__ uint32_t pack(float low, float high) {
  return kScaled<Operand> ? pack_half(low, high) : pack_bf16(low, high);
}

// The power of two of a positive normal number: 1 or more and less than 2 is left of it.
__device__ __forceinline__ float power_of_two(float x) {
  return __uint_as_float(__float_as_uint(x) & 0x7f800000U);
}

}  // namespace deltaserve::cuda
