// Four float lanes in the compiler's own vector type, for any machine. vec_avx2.h and vec_avx512.h
// have the same functions; a kernel is written once over them and compiled per instruction set.
// Everything has internal linkage (see kernel_table.h).
#pragma once

#include <cstdint>
#include <cstring>

namespace deltaserve {
namespace {

using FloatLanes = float __attribute__((vector_size(16)));
using IntLanes = int32_t __attribute__((vector_size(16)));
using UintLanes = uint32_t __attribute__((vector_size(16)));

struct Vec {
  FloatLanes v;
};

inline constexpr int kLanes = 4;
inline constexpr int kMaxRows = 1;  // 8 vectors a row: half of the 16 registers of x86-64

inline Vec vec_zero() {
  return {FloatLanes{}};
}
inline Vec vec_set(float x) {
  return {FloatLanes{} + x};
}
inline Vec vec_load(const float* p) {
  Vec a;
  std::memcpy(&a.v, p, sizeof(a.v));
  return a;
}
inline void vec_store(float* p, Vec a) {
  std::memcpy(p, &a.v, sizeof(a.v));
}
inline Vec vec_add(Vec a, Vec b) {
  return {a.v + b.v};
}
inline Vec vec_sub(Vec a, Vec b) {
  return {a.v - b.v};
}
inline Vec vec_mul(Vec a, Vec b) {
  return {a.v * b.v};
}
inline Vec vec_div(Vec a, Vec b) {
  return {a.v / b.v};
}

// a * b + c. Fused on the other instruction sets; here rounded twice, which is the same for
// products of two bfloat16, as those are exact.
inline Vec vec_fma(Vec a, Vec b, Vec c) {
  return {a.v * b.v + c.v};
}

// A NaN stays a NaN in both.
inline Vec vec_at_least(Vec a, float low) {
  return {a.v < low ? vec_set(low).v : a.v};
}
inline Vec vec_at_most(Vec a, float high) {
  return {a.v > high ? vec_set(high).v : a.v};
}

// To the nearest integer, ties to even, for |a| < 2^22: adding 1.5 * 2^23 pushes the fraction out.
inline Vec vec_round(Vec a) {
  constexpr float kShift = 12582912.0F;
  return {(a.v + kShift) - kShift};
}

// 2^n for an integer n in [-127, 128]; the ends give 0 and infinity.
inline Vec vec_pow2(Vec n) {
  const IntLanes exponent = (__builtin_convertvector(n.v, IntLanes) + 127) << 23;
  Vec a;
  std::memcpy(&a.v, &exponent, sizeof(a.v));
  return a;
}

// a, with 0 in the lanes where x < limit.
inline Vec vec_zero_where_less(Vec a, Vec x, float limit) {
  return {x.v < limit ? FloatLanes{} : a.v};
}

inline UintLanes load_bits(const uint16_t* p) {
  UintLanes bits;
  std::memcpy(&bits, p, sizeof(bits));
  return bits;
}

inline Vec from_bits(UintLanes bits) {
  Vec a;
  std::memcpy(&a.v, &bits, sizeof(a.v));
  return a;
}

// kLanes pairs of bfloat16: the first, or the second, of each.
inline Vec vec_even(const uint16_t* pairs) {
  return from_bits(load_bits(pairs) << 16);
}
inline Vec vec_odd(const uint16_t* pairs) {
  return from_bits(load_bits(pairs) & 0xffff0000U);
}

inline Vec vec_load_bf16(const uint16_t* p) {
  const UintLanes bits = {p[0], p[1], p[2], p[3]};
  return from_bits(bits << 16);
}

// Round to nearest even; NaN stays a quiet NaN.
inline void vec_store_bf16(uint16_t* p, Vec a) {
  UintLanes bits;
  std::memcpy(&bits, &a.v, sizeof(bits));
  const UintLanes high = bits >> 16;
  const UintLanes rounded = (bits + 0x7fffU + (high & 1U)) >> 16;
  for (int i = 0; i < kLanes; ++i) {
    const bool nan = (bits[i] & 0x7fffffffU) > 0x7f800000U;
    p[i] = static_cast<uint16_t>(nan ? high[i] | 0x40U : rounded[i]);
  }
}

inline void prefetch_near(const char* p) {
  __builtin_prefetch(p, 0, 3);
}
inline void prefetch_l2(const char* p) {
  __builtin_prefetch(p, 0, 2);
}

}  // namespace
}  // namespace deltaserve
