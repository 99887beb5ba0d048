// What happens to a finished tile c[rows][32] on its way out, and the exponential. Over Vec, as
// gemm_impl.h.
#pragma once

#include <cstring>

#include "backends/cpu/isa/kernel_table.h"

namespace deltaserve {
namespace {

// e^x by x = n ln 2 + r, |r| <= ln2 / 2, and a polynomial of degree 7 in r (relative error 2e-7);
// 0 below -87.3 (the smallest normal number), infinity above 88.4.
inline Vec vec_exp(Vec x) {
  constexpr float kLowest = -87.33654F;
  const Vec bounded = vec_at_most(vec_at_least(x, -88.0F), 89.0F);
  const Vec n = vec_round(vec_mul(bounded, vec_set(1.44269504088896F)));
  // ln 2 in two parts; the product of the first with n is exact.
  Vec r = vec_fma(n, vec_set(-0.693359375F), bounded);
  r = vec_fma(n, vec_set(2.12194440055e-4F), r);
  constexpr float kTaylor[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F};
  Vec p = vec_set(1.0F / 5040);
#pragma GCC unroll 8
  for (int i = 0; i < 7; ++i) {
    p = vec_fma(p, r, vec_set(kTaylor[i]));
  }
  return vec_zero_where_less(vec_mul(p, vec_pow2(n)), x, kLowest);
}

void exp_all(float* x, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    vec_store(x + i, vec_exp(vec_load(x + i)));
  }
  if (i < count) {
    float tail[kLanes] = {};
    const auto bytes = static_cast<size_t>(count - i) * sizeof(float);
    std::memcpy(tail, x + i, bytes);
    vec_store(tail, vec_exp(vec_load(tail)));
    std::memcpy(x + i, tail, bytes);
  }
}

void store_tile_f32(const float* c, int64_t rows, int64_t columns, float* out, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(out + r * stride, c + r * kPanelColumns,
                static_cast<size_t>(columns) * sizeof(float));
  }
}

void store_tile_bf16(const float* c, int64_t rows, int64_t columns, uint16_t* out, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = c + r * kPanelColumns;
    uint16_t* to = out + r * stride;
    int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      vec_store_bf16(to + j, vec_load(from + j));
    }
    if (j < columns) {
      uint16_t tail[kLanes];
      vec_store_bf16(tail, vec_load(from + j));
      std::memcpy(to + j, tail, static_cast<size_t>(columns - j) * sizeof(uint16_t));
    }
  }
}

void silu_mul_tile(float* c, int64_t rows) {
  constexpr int kHalf = static_cast<int>(kPanelColumns) / 2;
  for (int64_t r = 0; r < rows; ++r, c += kPanelColumns) {
    for (int j = 0; j < kHalf; j += kLanes) {
      const Vec gate = vec_load(c + j);
      const Vec up = vec_load(c + kHalf + j);
      const Vec denominator = vec_add(vec_set(1.0F), vec_exp(vec_sub(vec_zero(), gate)));
      vec_store(c + j, vec_mul(vec_div(gate, denominator), up));
    }
  }
}

}  // namespace
}  // namespace deltaserve
