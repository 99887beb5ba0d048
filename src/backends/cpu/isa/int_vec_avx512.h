// Sums of bytes over 16 lanes; beside vec_avx512.h. See int_vec_portable.h for what each function
// means.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "backends/cpu/isa/vec_avx512.h"

namespace deltaserve {
namespace {

struct IntVec {
  __m512i v;
};
struct ByteVec {
  __m512i v;
};

inline constexpr int kInt8Rows = 6;  // 6 rows x 2 vectors x 2 halves: 24 registers
inline constexpr int kInt8Vecs = 2;

inline IntVec int_set(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
inline IntVec int_load(const int32_t* p) {
  return {_mm512_loadu_si512(p)};
}
inline void int_store(int32_t* p, IntVec a) {
  _mm512_storeu_si512(p, a.v);
}
inline IntVec int_add(IntVec a, IntVec b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
inline ByteVec bytes_load(const uint8_t* p) {
  return {_mm512_loadu_si512(p)};
}
inline void bytes_store(uint8_t* p, ByteVec a) {
  _mm512_storeu_si512(p, a.v);
}
inline ByteVec bytes_low(ByteVec a) {
  return {_mm512_and_si512(a.v, _mm512_set1_epi8(15))};
}
inline ByteVec bytes_high(ByteVec a) {
  return {_mm512_and_si512(_mm512_srli_epi16(a.v, 4), _mm512_set1_epi8(15))};
}
inline ByteVec bytes_less_8(ByteVec a) {
  return {_mm512_sub_epi8(a.v, _mm512_set1_epi8(8))};
}
inline IntVec int_dot4(IntVec sum, ByteVec a, int32_t b) {
#ifdef __AVX512VNNI__
  // g++ 12 copies every sum around the intrinsic, to the stack where there are many.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.v) : "v"(a.v), "v"(_mm512_set1_epi32(b)));
  return sum;
#else
  const __m512i pairs = _mm512_maddubs_epi16(a.v, _mm512_set1_epi32(b));
  return {_mm512_add_epi32(sum.v, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
#endif
}
inline Vec vec_from_int(IntVec a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
inline Vec vec_from_halves(IntVec high, IntVec low) {
  return {_mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high.v, 7), low.v))};
}

// Sums, or pairs of 16 bits as in int_vec_avx2.h.
struct GroupVec {
  __m512i v;
};

inline constexpr int kInt4Rows = 6;  // 6 rows x 2 vectors: 12 registers, and 12 for parts of sums
inline constexpr int kInt4Vecs = 2;

inline GroupVec group_set(int32_t start) {
  return {_mm512_set1_epi32(start)};
}
#ifdef __AVX512VNNI__
inline int32_t group_start(int32_t sum) {
  return sum;
}
inline GroupVec group_dot4(GroupVec sum, ByteVec a, int32_t b) {
  return {int_dot4({sum.v}, a, b).v};
}
inline Vec vec_from_group(GroupVec sum) {
  return {_mm512_cvtepi32_ps(sum.v)};
}
#else
inline int32_t group_start(int32_t sum) {
  return sum & 0xffff;
}
inline GroupVec group_dot4(GroupVec sum, ByteVec a, int32_t b) {
  const __m512i pairs = _mm512_maddubs_epi16(a.v, _mm512_set1_epi32(b));
  asm("vpaddw %1, %0, %0" : "+v"(sum.v) : "v"(pairs));
  return sum;
}
inline Vec vec_from_group(GroupVec sum) {
  return {_mm512_cvtepi32_ps(_mm512_madd_epi16(sum.v, _mm512_set1_epi16(1)))};
}
#endif

}  // namespace
}  // namespace deltaserve
