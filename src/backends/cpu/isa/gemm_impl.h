// Matrix kernels over Vec: a tile of rows times one weight panel. Included once by the file of each
// instruction set, after its vec_*.h.
//
// bf16 panel: per 32 of K two tiles of [16 k-pairs][16 columns][2]; float32 panel: [k][32].
#pragma once

#include <cstring>

#include "backends/cpu/isa/kernel_table.h"

namespace deltaserve {
namespace {

constexpr int kVecs = static_cast<int>(kPanelColumns) / kLanes;

// What to prefetch meanwhile: the panel itself (already there, so free) if nothing was asked for.
inline const char* prefetch_start(const GemmTile& tile) {
  return static_cast<const char*>(tile.prefetch != nullptr ? tile.prefetch : tile.panel);
}

template <int R>
struct Accumulators {
  Vec v[R][kVecs];

  void start(const float* c, bool accumulate) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int j = 0; j < kVecs; ++j) {
        v[r][j] = accumulate ? vec_load(c + r * kPanelColumns + j * kLanes) : vec_zero();
      }
    }
  }

  void finish(float* c) const {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int j = 0; j < kVecs; ++j) {
        vec_store(c + r * kPanelColumns + j * kLanes, v[r][j]);
      }
    }
  }
};

// Where vector j of the columns lies within a bf16 K step of 1024 elements, at its first pair.
constexpr int pair_offset(int j) {
  return (j * kLanes / 16) * 512 + (j * kLanes % 16) * 2;
}

template <bool ToL2>
inline void prefetch_two_lines(const char* p) {
  if constexpr (ToL2) {
    prefetch_l2(p);
    prefetch_l2(p + 64);
  } else {
    prefetch_near(p);
    prefetch_near(p + 64);
  }
}

// One k-pair: a is [R][2], w the pair's row within its K step, acc the R rows of a panel.
template <int R>
inline void multiply_pair(Vec (*acc)[kVecs], const float* a, const uint16_t* w) {
#pragma GCC unroll 8
  for (int j = 0; j < kVecs; ++j) {
    const Vec odd = vec_odd(w + pair_offset(j));
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      acc[r][j] = vec_fma(vec_set(a[2 * r + 1]), odd, acc[r][j]);
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kVecs; ++j) {
    const Vec even = vec_even(w + pair_offset(j));
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      acc[r][j] = vec_fma(vec_set(a[2 * r]), even, acc[r][j]);
    }
  }
}

// R rows times P panels; rows of panel q are acc.v[q * R] and on.
template <int R, int P, bool ToL2>
void multiply_f32_bf16(const GemmTile& tile) {
  const auto* a = static_cast<const float*>(tile.a);
  const auto* w = static_cast<const uint16_t*>(tile.panel);
  const int64_t panel_elements = tile.panel_bytes / 2;
  const char* next = prefetch_start(tile);
  Accumulators<R * P> acc;
  acc.start(tile.c, tile.accumulate);
  for (int64_t pairs = tile.k / 2; pairs > 0; pairs -= 16, w += 1024) {
    const int64_t count = pairs < 16 ? pairs : 16;
    for (int64_t p = 0; p < count; ++p, a += 2 * R, next += 128) {
#pragma GCC unroll 2
      for (int q = 0; q < P; ++q) {
        prefetch_two_lines<ToL2>(next + q * tile.panel_bytes);
        multiply_pair<R>(acc.v + q * R, a, w + q * panel_elements + 32 * p);
      }
    }
  }
  acc.finish(tile.c);
}

template <int R, int P, bool ToL2>
void multiply_f32(const GemmTile& tile) {
  const auto* a = static_cast<const float*>(tile.a);
  const auto* w = static_cast<const float*>(tile.panel);
  const int64_t panel_elements = tile.panel_bytes / 4;
  const char* next = prefetch_start(tile);
  Accumulators<R * P> acc;
  acc.start(tile.c, tile.accumulate);
  for (int64_t k = 0; k < tile.k; ++k, a += R, w += kPanelColumns, next += 128) {
#pragma GCC unroll 2
    for (int q = 0; q < P; ++q) {
      prefetch_two_lines<ToL2>(next + q * tile.panel_bytes);
#pragma GCC unroll 8
      for (int j = 0; j < kVecs; ++j) {
        const Vec b = vec_load(w + q * panel_elements + j * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          acc.v[q * R + r][j] = vec_fma(vec_set(a[r]), b, acc.v[q * R + r][j]);
        }
      }
    }
  }
  acc.finish(tile.c);
}

template <int R>
void multiply_strided(const StridedTile& tile) {
  const float* a = tile.a;
  const float* w = tile.panel;
  Accumulators<R> acc;
  acc.start(tile.c, tile.accumulate);
  for (int64_t k = 0; k < tile.k; ++k, a += tile.k_stride, w += kPanelColumns) {
#pragma GCC unroll 8
    for (int j = 0; j < kVecs; ++j) {
      const Vec b = vec_load(w + j * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        acc.v[r][j] = vec_fma(vec_set(a[r * tile.row_stride]), b, acc.v[r][j]);
      }
    }
  }
  acc.finish(tile.c);
}

// Calls the kernel of a number of rows and panels known at run time: rows * panels <= R.
#define DS_ISA_DISPATCH_TILE(kernel)            \
  template <int R>                              \
  void kernel##_tile(const GemmTile& tile) {    \
    if constexpr (R >= 1) {                     \
      if (tile.rows != R) {                     \
        kernel##_tile<R - 1>(tile);             \
      } else if (tile.prefetch_to_l2) {         \
        kernel<R, 1, true>(tile);               \
      } else if (tile.panels == 1) {            \
        kernel<R, 1, false>(tile);              \
      } else if constexpr (2 * R <= kMaxRows) { \
        kernel<R, 2, false>(tile);              \
      }                                         \
    }                                           \
  }

DS_ISA_DISPATCH_TILE(multiply_f32_bf16)
DS_ISA_DISPATCH_TILE(multiply_f32)

template <int R>
void multiply_strided_tile(const StridedTile& tile) {
  if constexpr (R >= 1) {
    if (tile.rows == R) {
      multiply_strided<R>(tile);
    } else {
      multiply_strided_tile<R - 1>(tile);
    }
  }
}

inline float widen(float x) {
  return x;
}
inline float widen(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float value = 0.0F;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// packed[pair][row][2] as float32, from rows of X (float, or bfloat16 bits).
template <typename X>
void pack_pairs_f32(const void* x, int64_t stride, int64_t rows, int64_t K, void* packed) {
  const auto* from = static_cast<const X*>(x);
  auto* to = static_cast<float*>(packed);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < K; ++k) {
      to[(k / 2 * rows + r) * 2 + k % 2] = widen(from[r * stride + k]);
    }
    if (K % 2 != 0) {
      to[(K / 2 * rows + r) * 2 + 1] = 0.0F;
    }
  }
}

// packed[k][row], K to an even number.
void pack_f32(const void* x, int64_t stride, int64_t rows, int64_t K, void* packed) {
  const auto* from = static_cast<const float*>(x);
  auto* to = static_cast<float*>(packed);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < K; ++k) {
      to[k * rows + r] = from[r * stride + k];
    }
    if (K % 2 != 0) {
      to[K * rows + r] = 0.0F;
    }
  }
}

}  // namespace
}  // namespace deltaserve
