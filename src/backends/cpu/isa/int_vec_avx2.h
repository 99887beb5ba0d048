// Sums of bytes over 8 lanes; beside vec_avx2.h. See int_vec_portable.h for what each function
// means.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "backends/cpu/isa/vec_avx2.h"

namespace deltaserve {
namespace {

struct IntVec {
  __m256i v;
};
struct ByteVec {
  __m256i v;
};

inline constexpr int kInt8Rows = 3;  // 3 rows x 2 vectors x 2 halves: 12 of 16 registers
inline constexpr int kInt8Vecs = 2;

inline IntVec int_set(int32_t x) {
  return {_mm256_set1_epi32(x)};
}
inline IntVec int_load(const int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
inline void int_store(int32_t* p, IntVec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v);
}
inline IntVec int_add(IntVec a, IntVec b) {
  return {_mm256_add_epi32(a.v, b.v)};
}
inline ByteVec bytes_load(const uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
inline void bytes_store(uint8_t* p, ByteVec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v);
}
inline ByteVec bytes_low(ByteVec a) {
  return {_mm256_and_si256(a.v, _mm256_set1_epi8(15))};
}
inline ByteVec bytes_high(ByteVec a) {
  return {_mm256_and_si256(_mm256_srli_epi16(a.v, 4), _mm256_set1_epi8(15))};
}
inline IntVec int_dot4(IntVec sum, ByteVec a, int32_t b) {
  const __m256i pairs = _mm256_maddubs_epi16(a.v, _mm256_set1_epi32(b));
  return {_mm256_add_epi32(sum.v, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
}
inline Vec vec_from_halves(IntVec high, IntVec low) {
  return {_mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_slli_epi32(high.v, 7), low.v))};
}

struct GroupVec {
  __m256i v;  // pairs of 16 bits
};

inline constexpr int kInt4Rows = 4;  // 4 rows x 2 vectors: 8 of 16 registers
inline constexpr int kInt4Vecs = 2;

// All of it to the first of each pair: its sum is then that of (a - 8) b, less 8 times the second's
// b, within 8 * 127 * 32 < 2^15 again.
inline int32_t group_start(int32_t sum) {
  return sum & 0xffff;
}
inline GroupVec group_set(int32_t start) {
  return {_mm256_set1_epi32(start)};
}
inline GroupVec group_dot4(GroupVec sum, ByteVec a, int32_t b) {
  // g++ 12 would add products to each other first and keep many of them, on the stack.
  const __m256i pairs = _mm256_maddubs_epi16(a.v, _mm256_set1_epi32(b));
  asm("vpaddw %1, %0, %0" : "+x"(sum.v) : "x"(pairs));
  return sum;
}
inline Vec vec_from_group(GroupVec sum) {
  return {_mm256_cvtepi32_ps(_mm256_madd_epi16(sum.v, _mm256_set1_epi16(1)))};
}

}  // namespace
}  // namespace deltaserve
