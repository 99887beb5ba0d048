// Kernels for AVX-512 with VDPBF16PS, which adds the odd product of a pair first, then the even
// one, each fused (measured: 200,000 of 200,000 results); the widened kernels keep that order, so
// all instruction sets agree bit for bit. It flushes denormals whatever MXCSR says; the compute
// threads run the others with FTZ and DAZ.
#include "backends/cpu/isa/int_vec_avx512.h"
#include "backends/cpu/isa/tables.h"
// The code over Vec follows its definition.
#include "backends/cpu/isa/table.inc"

namespace deltaserve {
namespace {

inline __m512bh load_pairs(const uint16_t* w) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(w));
}

template <int R, int P, bool ToL2>
void multiply_bf16(const GemmTile& tile) {
  const auto* a = static_cast<const int32_t*>(tile.a);  // [pair][R] of two bfloat16
  const auto* w = static_cast<const uint16_t*>(tile.panel);
  const int64_t panel_elements = tile.panel_bytes / 2;
  const char* next = prefetch_start(tile);
  Accumulators<R * P> acc;
  acc.start(tile.c, tile.accumulate);
  for (int64_t pairs = tile.k / 2; pairs > 0; pairs -= 16, w += 1024) {
    const int64_t count = pairs < 16 ? pairs : 16;
    for (int64_t p = 0; p < count; ++p, a += R, next += 128) {
#pragma GCC unroll 2
      for (int q = 0; q < P; ++q) {
        prefetch_two_lines<ToL2>(next + q * tile.panel_bytes);
        const uint16_t* row = w + q * panel_elements + 32 * p;
        const __m512bh left = load_pairs(row);
        const __m512bh right = load_pairs(row + 512);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(a[r]));
          Vec* sums = acc.v[q * R + r];
          sums[0].v = _mm512_dpbf16_ps(sums[0].v, x, left);
          sums[1].v = _mm512_dpbf16_ps(sums[1].v, x, right);
        }
      }
    }
  }
  acc.finish(tile.c);
}

DS_ISA_DISPATCH_TILE(multiply_bf16)

// packed[pair][row] as 32-bit pairs of bfloat16.
void pack_bf16(const void* x, int64_t stride, int64_t rows, int64_t K, void* packed) {
  const auto* from = static_cast<const uint16_t*>(x);
  auto* to = static_cast<int32_t*>(packed);
  for (int64_t r = 0; r < rows; ++r) {
    const uint16_t* row = from + r * stride;
    for (int64_t p = 0; p < K / 2; ++p) {
      std::memcpy(to + p * rows + r, row + 2 * p, sizeof(int32_t));
    }
    if (K % 2 != 0) {
      to[K / 2 * rows + r] = row[K - 1];
    }
  }
}

float run_bf16(int64_t iterations) {
  Vec sums[kChains];
  for (Vec& sum : sums) {
    sum = vec_zero();
  }
  const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f003f00));  // pairs of 0.5
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kChains; ++j) {
      sums[j].v = _mm512_dpbf16_ps(sums[j].v, x, x);
    }
  }
  return add_up(sums, kChains);
}

constexpr CpuKernels widened_table() {
  return vec_kernels("avx512_bf16", "avx512 bf16 widened + FMA", "avx512 f32 x bf16 FMA",
                     "avx512 f32 FMA", "avx512 int8 x 14 bits VPDPBUSD",
                     "avx512 int4 x 8 bits VPDPBUSD");
}

constexpr CpuKernels make_table() {
  CpuKernels table = widened_table();
  table.bf16 = {pack_bf16, multiply_bf16_tile<kMaxRows>, 2, "avx512_bf16 VDPBF16PS", kMaxRows};
  table.short_bf16 = table.bf16;
  table.run_bf16 = run_bf16;
  table.bf16_flop = 2 * table.fma_flop;
  return table;
}

}  // namespace

constexpr CpuKernels kAvx512Bf16Kernels = make_table();
constexpr CpuKernels kAvx512WidenedKernels = widened_table();

}  // namespace deltaserve
