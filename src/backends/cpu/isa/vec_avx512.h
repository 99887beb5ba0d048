// 16 float lanes in a zmm register. See vec_portable.h for what each function means.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace deltaserve {
namespace {

struct Vec {
  __m512 v;
};

inline constexpr int kLanes = 16;
inline constexpr int kMaxRows = 12;  // 12 rows x 2 vectors: 24 of 32 registers accumulate

inline Vec vec_zero() {
  return {_mm512_setzero_ps()};
}
inline Vec vec_set(float x) {
  return {_mm512_set1_ps(x)};
}
inline Vec vec_load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
inline void vec_store(float* p, Vec a) {
  _mm512_storeu_ps(p, a.v);
}
inline Vec vec_add(Vec a, Vec b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline Vec vec_sub(Vec a, Vec b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline Vec vec_mul(Vec a, Vec b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline Vec vec_div(Vec a, Vec b) {
  return {_mm512_div_ps(a.v, b.v)};
}
inline Vec vec_fma(Vec a, Vec b, Vec c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
inline Vec vec_at_least(Vec a, float low) {
  return {_mm512_max_ps(_mm512_set1_ps(low), a.v)};
}
inline Vec vec_at_most(Vec a, float high) {
  return {_mm512_min_ps(_mm512_set1_ps(high), a.v)};
}

inline Vec vec_round(Vec a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

inline Vec vec_pow2(Vec n) {
  const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n.v), _mm512_set1_epi32(127));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23))};
}

inline Vec vec_zero_where_less(Vec a, Vec x, float limit) {
  const __mmask16 keep = _mm512_cmp_ps_mask(x.v, _mm512_set1_ps(limit), _CMP_NLT_UQ);
  return {_mm512_maskz_mov_ps(keep, a.v)};
}

inline Vec vec_even(const uint16_t* pairs) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(pairs), 16))};
}

inline Vec vec_odd(const uint16_t* pairs) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(pairs), high))};
}

inline Vec vec_load_bf16(const uint16_t* p) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}

inline void vec_store_bf16(uint16_t* p, Vec a) {
#ifdef __AVX512BF16__
  const __m256bh rounded_pairs = _mm512_cvtneps_pbh(a.v);
  std::memcpy(p, &rounded_pairs, sizeof(rounded_pairs));
#else
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i lsb = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(lsb, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
  const __m512i quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i result = _mm512_mask_mov_epi32(rounded, nan, quiet);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(result));
#endif
}

inline void prefetch_near(const char* p) {
  _mm_prefetch(p, _MM_HINT_T0);
}
inline void prefetch_l2(const char* p) {
  _mm_prefetch(p, _MM_HINT_T1);
}

}  // namespace
}  // namespace deltaserve
