// 8 float lanes in a ymm register. See vec_portable.h for what each function means.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace deltaserve {
namespace {

struct Vec {
  __m256 v;
};

inline constexpr int kLanes = 8;
inline constexpr int kMaxRows = 3;  // 3 rows x 4 vectors: 12 of 16 registers accumulate

inline Vec vec_zero() {
  return {_mm256_setzero_ps()};
}
inline Vec vec_set(float x) {
  return {_mm256_set1_ps(x)};
}
inline Vec vec_load(const float* p) {
  return {_mm256_loadu_ps(p)};
}
inline void vec_store(float* p, Vec a) {
  _mm256_storeu_ps(p, a.v);
}
inline Vec vec_add(Vec a, Vec b) {
  return {_mm256_add_ps(a.v, b.v)};
}
inline Vec vec_sub(Vec a, Vec b) {
  return {_mm256_sub_ps(a.v, b.v)};
}
inline Vec vec_mul(Vec a, Vec b) {
  return {_mm256_mul_ps(a.v, b.v)};
}
inline Vec vec_div(Vec a, Vec b) {
  return {_mm256_div_ps(a.v, b.v)};
}
inline Vec vec_fma(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
inline Vec vec_at_least(Vec a, float low) {
  return {_mm256_max_ps(_mm256_set1_ps(low), a.v)};
}
inline Vec vec_at_most(Vec a, float high) {
  return {_mm256_min_ps(_mm256_set1_ps(high), a.v)};
}

inline Vec vec_round(Vec a) {
  return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

inline Vec vec_pow2(Vec n) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23))};
}

inline Vec vec_zero_where_less(Vec a, Vec x, float limit) {
  return {_mm256_and_ps(a.v, _mm256_cmp_ps(x.v, _mm256_set1_ps(limit), _CMP_NLT_UQ))};
}

inline __m256i load_bits(const uint16_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

inline Vec vec_even(const uint16_t* pairs) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(load_bits(pairs), 16))};
}

// By two shifts: a mask would take the register that the accumulators of three rows leave.
inline Vec vec_odd(const uint16_t* pairs) {
  const __m256i odd = _mm256_slli_epi32(_mm256_srli_epi32(load_bits(pairs), 16), 16);
  return {_mm256_castsi256_ps(odd)};
}

inline Vec vec_load_bf16(const uint16_t* p) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
}

inline void vec_store_bf16(uint16_t* p, Vec a) {
  const __m256i bits = _mm256_castps_si256(a.v);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i lsb = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q));
  const __m256i result = _mm256_blendv_epi8(rounded, quiet, nan);
  // packus works within 128-bit halves: bring quarters 0 and 2 together.
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(result, result), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
}

inline void prefetch_near(const char* p) {
  _mm_prefetch(p, _MM_HINT_T0);
}
inline void prefetch_l2(const char* p) {
  _mm_prefetch(p, _MM_HINT_T1);
}

}  // namespace
}  // namespace deltaserve
