// Float32 vectors in parts that tiles can multiply: the nearest bfloat16, and pairs of those.
// Beside vec_avx512.h, for the kernels on AMX tiles.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "backends/cpu/isa/vec_avx512.h"

namespace deltaserve {
namespace {

// The nearest bfloat16, ties to even, as a float.
inline Vec vec_round_bf16(Vec a) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i lsb = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(lsb, _mm512_set1_epi32(0x7fff));
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_add_epi32(bits, bias), high))};
}

// Pairs (even, odd) of values that are bfloat16 already: 32 elements.
inline void vec_store_pairs(uint16_t* p, Vec even, Vec odd) {
  const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(even.v), 16);
  _mm512_storeu_si512(p, _mm512_or_si512(low, _mm512_castps_si512(odd.v)));
}

}  // namespace
}  // namespace deltaserve
