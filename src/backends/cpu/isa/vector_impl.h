// Elementwise loops and sums over Vec, as gemm_impl.h. A sum has 16 partial sums by position, added
// in a fixed order, on every instruction set.
#pragma once

#include <cstring>

#include "backends/cpu/isa/kernel_table.h"

namespace deltaserve {
namespace {

inline void load_tail(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

float dot_all(const float* a, const float* b, int64_t count) {
  constexpr int kSums = 16;
  constexpr int kParts = kSums / kLanes;
  Vec sums[kParts];
  for (Vec& sum : sums) {
    sum = vec_zero();
  }
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
#pragma GCC unroll 4
    for (int j = 0; j < kParts; ++j) {
      sums[j] = vec_fma(vec_load(a + i + j * kLanes), vec_load(b + i + j * kLanes), sums[j]);
    }
  }
  if (i < count) {
    float tail_a[kSums] = {};
    float tail_b[kSums] = {};
    load_tail(a + i, count - i, tail_a);
    load_tail(b + i, count - i, tail_b);
    for (int j = 0; j < kParts; ++j) {
      sums[j] = vec_fma(vec_load(tail_a + j * kLanes), vec_load(tail_b + j * kLanes), sums[j]);
    }
  }
  float lanes[kSums];
  for (int j = 0; j < kParts; ++j) {
    vec_store(lanes + j * kLanes, sums[j]);
  }
  for (int width = kSums / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) {
      lanes[j] += lanes[j + width];
    }
  }
  return lanes[0];
}

void scale_all(float* x, int64_t count, float factor) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    vec_store(x + i, vec_mul(vec_load(x + i), vec_set(factor)));
  }
  for (; i < count; ++i) {
    x[i] *= factor;
  }
}

void axpy_all(float* y, const float* x, int64_t count, float factor) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    vec_store(y + i, vec_fma(vec_set(factor), vec_load(x + i), vec_load(y + i)));
  }
  if (i < count) {
    float tail_x[kLanes] = {};
    float tail_y[kLanes] = {};
    load_tail(x + i, count - i, tail_x);
    load_tail(y + i, count - i, tail_y);
    vec_store(tail_y, vec_fma(vec_set(factor), vec_load(tail_x), vec_load(tail_y)));
    load_tail(tail_y, count - i, y + i);
  }
}

void widen_all(const uint16_t* bf16, int64_t count, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    vec_store(out + i, vec_load_bf16(bf16 + i));
  }
  if (i < count) {
    uint16_t tail[kLanes] = {};
    float wide[kLanes];
    std::memcpy(tail, bf16 + i, static_cast<size_t>(count - i) * sizeof(uint16_t));
    vec_store(wide, vec_load_bf16(tail));
    load_tail(wide, count - i, out + i);
  }
}

void narrow_all(const float* x, int64_t count, uint16_t* bf16) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    vec_store_bf16(bf16 + i, vec_load(x + i));
  }
  if (i < count) {
    float wide[kLanes] = {};
    uint16_t tail[kLanes];
    load_tail(x + i, count - i, wide);
    vec_store_bf16(tail, vec_load(wide));
    std::memcpy(bf16 + i, tail, static_cast<size_t>(count - i) * sizeof(uint16_t));
  }
}

}  // namespace
}  // namespace deltaserve
