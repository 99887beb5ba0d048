// A chunk of the gated delta rule on bfloat16 tiles (AMX). Raw q and k are exact there: their norms
// are factors of rows and columns in float32. What is float32 (state, new values, decayed scores)
// is split in two bfloat16, 16 bits together, so that the error stays near 4e-6 where plain
// bfloat16 has 2e-3.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/delta_rule_parts.h"
#include "backends/cpu/kernels.h"

namespace deltaserve {
namespace {

constexpr int64_t kRows = 32;  // of a row tile

// Scratch of one head, in the order of use.
struct TileScratch {
  uint16_t* q;  // [2][dk / 32][32][32] row tiles; K's follow Q's
  uint16_t* k;
  uint16_t* k_panel;  // two panels of Kᵀ, [dk][32 tokens]
  uint16_t* k_t;      // [dk / 32][tokens / 32][32][32] row tiles of Kᵀ
  uint16_t* p;        // [2][2][32][32] row tiles of Q Kᵀ D, and what rounding left of them
  uint16_t* p_low;
  uint16_t* state;  // a panel [dk][32]
  uint16_t* state_low;
  uint16_t* fresh;  // a panel [64][32]
  uint16_t* fresh_low;
  uint16_t* ending;  // the same, decayed to the chunk's end
  uint16_t* ending_low;
  float* kk;  // [2 panels][64][32]
  float* qk;
  float* a;         // [64][64] minus the strictly lower triangle of the system
  float* diagonal;  // [64 / 16][16][16] blocks of a
  float* out;       // [64][32] Q S
  float* values;    // [64][32] K S, then R, then N
  float* inner;     // [64][32] Q Kᵀ D N
  int64_t bytes = 0;

  TileScratch(void* memory, int64_t dk) {
    const auto take = [&]<typename T>(T*& start, int64_t count) {
      start = memory == nullptr ? nullptr
                                : reinterpret_cast<T*>(static_cast<std::byte*>(memory) + bytes);
      bytes += count * static_cast<int64_t>(sizeof(T));
    };
    for (uint16_t** rows : {&q, &k, &k_panel, &k_t}) take(*rows, kChunk * dk);
    take(p, kChunk * kChunk);
    take(p_low, kChunk * kChunk);
    take(state, dk * kStrip);
    take(state_low, dk * kStrip);
    take(fresh, kChunk * kStrip);
    take(fresh_low, kChunk * kStrip);
    take(ending, kChunk * kStrip);
    take(ending_low, kChunk * kStrip);
    take(kk, kChunk * kChunk);
    take(qk, kChunk * kChunk);
    take(a, kChunk * kChunk);
    take(diagonal, kChunk * kSolveRows);
    for (float** rows : {&out, &values, &inner}) take(*rows, kChunk * kStrip);
  }
};

// What raw products are multiplied by, for each row.
struct Factors {
  float norm_k[kChunk] = {};  // 1 / |k|, zero beyond the rows
  float norm_q[kChunk] = {};  // dk^-0.5 / |q|
  float row_k[kChunk];        // -beta / |k|
  float state_k[kChunk];      // e^G / |k|
  float state_q[kChunk];      // e^G dk^-0.5 / |q|
  float to_end[kChunk];       // e^(G_last - G) / |k|
};

// Loads q and k as row tiles.
Factors make_factors(const CpuKernels& kernels, const DeltaRuleRows& rows, const Gates& gates,
                     int64_t padded, const TileScratch& scratch) {
  Factors f;
  float squares[kChunk];
  const auto load = [&](const void* x, uint16_t* tiles, float factor, float* norms) {
    kernels.delta_tiles.load_rows({.x = static_cast<const uint16_t*>(x),
                                   .stride = rows.qk_stride,
                                   .rows = rows.rows,
                                   .padded = padded,
                                   .k = rows.dk,
                                   .tiles = tiles,
                                   .squares = squares});
    for (int64_t i = 0; i < rows.rows; ++i) {
      norms[i] = factor / std::sqrt(squares[i] + kL2Eps);
    }
  };
  load(rows.k, scratch.k, 1.0F, f.norm_k);
  load(rows.q, scratch.q, 1.0F / std::sqrt(static_cast<float>(rows.dk)), f.norm_q);
  for (int64_t i = 0; i < kChunk; ++i) {
    f.row_k[i] = -gates.beta[i] * f.norm_k[i];
    f.state_k[i] = gates.e_G[i] * f.norm_k[i];
    f.state_q[i] = gates.e_G[i] * f.norm_q[i];
    f.to_end[i] = gates.to_end[i] * f.norm_k[i];
  }
  return f;
}

void make_triangles(const CpuKernels& kernels, const TileScratch& scratch, const Gates& gates,
                    const Factors& f, int64_t dk, int64_t padded) {
  const DeltaTileKernels& tiles = kernels.delta_tiles;
  const int64_t row_tiles = padded / kRows;
  for (int64_t t = 0; t < row_tiles; ++t) {
    uint16_t* panel = scratch.k_panel + t * dk * kStrip;
    tiles.transpose(scratch.k + t * dk * kRows, dk, t, row_tiles, panel, scratch.k_t);
  }
  for (int64_t panel = 0; panel < row_tiles; ++panel) {
    // Tokens before a panel's see none of its own.
    const int64_t sums = panel * kChunk * kStrip + panel * kRows * kStrip;
    SplitProduct product{.a = scratch.k + panel * dk * kRows,
                         .panel = scratch.k_panel + panel * dk * kStrip,
                         .c = scratch.kk + sums,
                         .row_tiles = row_tiles - panel,
                         .k = dk};
    tiles.multiply(product);
    product.a = scratch.q + panel * dk * kRows;
    product.c = scratch.qk + sums;
    tiles.multiply(product);
  }
  tiles.triangles({.rows = padded,
                   .kk = scratch.kk,
                   .qk = scratch.qk,
                   .G = gates.G,
                   .row_k = f.row_k,
                   .row_q = f.norm_q,
                   .column = f.norm_k,
                   .a = scratch.a,
                   .diagonal = scratch.diagonal,
                   .p = scratch.p,
                   .p_low = scratch.p_low});
}

void chunk_strip(const CpuContext& context, const DeltaRuleRows& rows, const TileScratch& scratch,
                 const Gates& gates, const Factors& f, int64_t padded, int64_t strip) {
  const CpuKernels& kernels = *context.kernels;
  const DeltaTileKernels& tiles = kernels.delta_tiles;
  const int64_t dk = rows.dk;
  const int64_t row_tiles = padded / kRows;
  float* state = rows.state + strip * dk * kStrip;
  const DeltaStripRows part{
      .rows = rows.rows, .padded = padded, .columns = std::min(kStrip, rows.dv - strip * kStrip)};
  tiles.split_panel(state, dk, gates.e_G_last, scratch.state, scratch.state_low);
  SplitProduct by_state{.a = scratch.k,
                        .panel = scratch.state,
                        .panel_low = scratch.state_low,
                        .c = scratch.values,
                        .row_tiles = row_tiles,
                        .k = dk};
  tiles.multiply(by_state);
  by_state.a = scratch.q;
  by_state.c = scratch.out;
  tiles.multiply(by_state);

  tiles.residual(part, scratch.values, static_cast<const uint16_t*>(rows.v) + strip * kStrip,
                 rows.v_stride, f.state_k, gates.beta);
  substitute(kernels, scratch.a, scratch.diagonal, scratch.values, padded);

  tiles.split_values(scratch.values, padded, f.to_end, scratch.fresh, scratch.fresh_low,
                     scratch.ending, scratch.ending_low);
  tiles.multiply({.a = scratch.p,
                  .a_low = scratch.p_low,
                  .panel = scratch.fresh,
                  .panel_low = scratch.fresh_low,
                  .c = scratch.inner,
                  .row_tiles = row_tiles,
                  .k = padded,
                  .triangular = true});
  tiles.finish(part, scratch.out, f.state_q, scratch.inner,
               static_cast<uint16_t*>(rows.out) + strip * kStrip, rows.out_stride);
  tiles.multiply({.a = scratch.k_t,
                  .panel = scratch.ending,
                  .panel_low = scratch.ending_low,
                  .c = state,
                  .row_tiles = dk / kRows,
                  .k = padded,
                  .accumulate = true});
}

}  // namespace

bool delta_rule_on_tiles(const CpuContext& context, int64_t dk) {
  return context.kernels->delta_tiles.multiply != nullptr &&
         context.compute_dtype == DType::kBF16 && dk % kPanelKStep == 0;
}

int64_t delta_rule_tile_scratch_bytes(int64_t dk) {
  return TileScratch(nullptr, dk).bytes;
}

void delta_rule_chunk_tiles(const CpuContext& context, const DeltaRuleRows& rows, float* memory) {
  const CpuKernels& kernels = *context.kernels;
  const TileScratch scratch(memory, rows.dk);
  // Rows up to a whole tile: k = q = v = 0, beta = 0, g = 0 changes nothing.
  const int64_t padded = (rows.rows + kRows - 1) / kRows * kRows;
  const Gates gates = load_gates(kernels, rows);
  const Factors factors = make_factors(kernels, rows, gates, padded, scratch);
  make_triangles(kernels, scratch, gates, factors, rows.dk, padded);
  for (int64_t strip = rows.strips.begin; strip < rows.strips.end; ++strip) {
    chunk_strip(context, rows, scratch, gates, factors, padded, strip);
  }
}

}  // namespace deltaserve
