// Sums of bytes over four lanes, for panels of integers; beside vec_portable.h. int_vec_avx2.h and
// int_vec_avx512.h have the same functions.
#pragma once

#include <cstdint>
#include <cstring>

#include "backends/cpu/isa/vec_portable.h"

namespace deltaserve {
namespace {

// kLanes sums, and kLanes times four bytes without sign.
struct IntVec {
  IntLanes v;
};
struct ByteVec {
  UintLanes v;
};

inline constexpr int kInt8Rows = 1;
inline constexpr int kInt8Vecs = 2;

inline IntVec int_set(int32_t x) {
  return {IntLanes{} + x};
}
inline IntVec int_load(const int32_t* p) {
  IntVec a;
  std::memcpy(&a.v, p, sizeof(a.v));
  return a;
}
inline void int_store(int32_t* p, IntVec a) {
  std::memcpy(p, &a.v, sizeof(a.v));
}
inline IntVec int_add(IntVec a, IntVec b) {
  return {a.v + b.v};
}
inline ByteVec bytes_load(const uint8_t* p) {
  ByteVec a;
  std::memcpy(&a.v, p, sizeof(a.v));
  return a;
}
inline void bytes_store(uint8_t* p, ByteVec a) {
  std::memcpy(p, &a.v, sizeof(a.v));
}
// The lower, or the upper, four bits of each byte.
inline ByteVec bytes_low(ByteVec a) {
  return {a.v & 0x0f0f0f0fU};
}
inline ByteVec bytes_high(ByteVec a) {
  return {(a.v >> 4) & 0x0f0f0f0fU};
}

// sum + the products of a lane's four bytes with the four signed bytes of b. Those are within -64
// to 64: instruction sets that add pairs of products in 16 bits then stay exact.
inline IntVec int_dot4(IntVec sum, ByteVec a, int32_t b) {
  for (int i = 0; i < 4; ++i) {
    const int32_t factor = static_cast<int8_t>(static_cast<uint32_t>(b) >> (8 * i));
    sum.v += __builtin_convertvector((a.v >> (8 * i)) & 0xffU, IntLanes) * factor;
  }
  return sum;
}

// 128 high + low, below 2^31, rounded to float32.
inline Vec vec_from_halves(IntVec high, IntVec low) {
  return {__builtin_convertvector(high.v * 128 + low.v, FloatLanes)};
}

// Sums over one group of 4-bit weights: for each lane at most 32 products of bytes 0 to 15 with
// signed ones of -127 to 127. Instruction sets may hold them in parts of 16 bits.
struct GroupVec {
  IntLanes v;
};

inline constexpr int kInt4Rows = 1;
inline constexpr int kInt4Vecs = 2;

// What group_set takes so that sums start from -8 times the sum of the signed bytes.
inline int32_t group_start(int32_t sum) {
  return sum;
}
inline GroupVec group_set(int32_t start) {
  return {IntLanes{} + start};
}
inline GroupVec group_dot4(GroupVec sum, ByteVec a, int32_t b) {
  return {int_dot4({sum.v}, a, b).v};
}
inline Vec vec_from_group(GroupVec sum) {
  return {__builtin_convertvector(sum.v, FloatLanes)};
}

}  // namespace
}  // namespace deltaserve
