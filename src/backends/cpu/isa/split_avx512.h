// Float32 vectors in parts that tiles can multiply: the nearest bfloat16, and pairs of those.
// Beside vec_avx512.h, for the kernels on AMX tiles.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "backends/cpu/isa/vec_avx512.h"

namespace deltaserve {
namespace {

inline __m512i upper_halves(__m512i bits) {
  return _mm512_and_si512(bits, _mm512_set1_epi32(static_cast<int>(0xffff0000U)));
}
inline __m512i half_up(Vec a) {
  return _mm512_add_epi32(_mm512_castps_si512(a.v), _mm512_set1_epi32(0x8000));
}

// The nearest bfloat16 as a float. Ties go away from zero, which takes two instructions where ties
// to even take five; what is left over is exact either way.
inline Vec vec_round_bf16(Vec a) {
  return {_mm512_castsi512_ps(upper_halves(half_up(a)))};
}

// Pairs (even, odd) rounded so: 32 elements.
inline void vec_store_pairs(uint16_t* p, Vec even, Vec odd) {
  const __m512i low = _mm512_srli_epi32(half_up(even), 16);
  _mm512_storeu_si512(p, _mm512_or_si512(low, upper_halves(half_up(odd))));
}

// Two vectors as 32 bfloat16.
inline void vec_store_two_bf16(uint16_t* p, Vec first, Vec second) {
#ifdef __AVX512BF16__
  const __m512bh rounded = _mm512_cvtne2ps_pbh(second.v, first.v);
  std::memcpy(p, &rounded, sizeof(rounded));
#else
  vec_store_bf16(p, first);
  vec_store_bf16(p + kLanes, second);
#endif
}

// Up to 16 bfloat16; what lies beyond `count` is zero, and neither read nor written.
inline Vec vec_load_some_bf16(const uint16_t* p, int64_t count) {
  const auto mask = static_cast<__mmask16>((1U << (count < 16 ? count : 16)) - 1);
  const __m256i bits = _mm256_maskz_loadu_epi16(mask, p);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}
inline void vec_store_some_bf16(uint16_t* p, Vec a, int64_t count) {
  const auto mask = static_cast<__mmask16>((1U << (count < 16 ? count : 16)) - 1);
#ifdef __AVX512BF16__
  const __m256bh rounded = _mm512_cvtneps_pbh(a.v);
  __m256i bits;
  std::memcpy(&bits, &rounded, sizeof(bits));
#else
  uint16_t rounded[16];
  vec_store_bf16(rounded, a);
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rounded));
#endif
  _mm256_mask_storeu_epi16(p, mask, bits);
}

// The sum of the lanes, in a fixed order.
inline float vec_sum(Vec a) {
  return _mm512_reduce_add_ps(a.v);
}

// rows[i] is row i of 16 x 16 elements of 32 bits; then column i.
inline void transpose_16(__m512i (&rows)[16]) {
  __m512i a[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  // b[4g + c]: column c of each 4 of the rows 4g to 4g + 3.
  __m512i b[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i low01 = _mm512_shuffle_i32x4(b[c], b[4 + c], 0x88);
    const __m512i low23 = _mm512_shuffle_i32x4(b[8 + c], b[12 + c], 0x88);
    const __m512i high01 = _mm512_shuffle_i32x4(b[c], b[4 + c], 0xdd);
    const __m512i high23 = _mm512_shuffle_i32x4(b[8 + c], b[12 + c], 0xdd);
    rows[c] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    rows[8 + c] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
    rows[4 + c] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    rows[12 + c] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
  }
}

}  // namespace
}  // namespace deltaserve
