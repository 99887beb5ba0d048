#include "backends/cpu/delta_rule.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/delta_rule_parts.h"
#include "backends/cpu/kernels.h"
#include "base/check.h"

namespace deltaserve {
namespace {

// Scratch of one head: everything float32, in the order of use.
struct Scratch {
  float* q;         // [64][dk] normalised and scaled
  float* k;         // [64][dk] normalised
  float* k_t;       // two panels [dk][32 tokens]: Kᵀ
  float* products;  // [64][32] of one panel of K Kᵀ or Q Kᵀ
  float* a;         // [64][64] minus the strictly lower triangle of beta K Kᵀ D
  float* p;         // [64][64] Q Kᵀ D
  float* diagonal;  // [64 / 16][16][16] blocks of a
  float* fresh;     // [64][32] K S, then R, then N
  float* out;       // [64][32]
  float* v;         // [64][32]

  Scratch(float* memory, int64_t dk) {
    const auto take = [&memory](int64_t count) {
      float* start = memory;
      memory += count;
      return start;
    };
    q = take(kChunk * dk);
    k = take(kChunk * dk);
    k_t = take(kChunk * dk);
    products = take(kChunk * kStrip);
    a = take(kChunk * kChunk);
    p = take(kChunk * kChunk);
    diagonal = take(kChunk * kSolveRows);
    fresh = take(kChunk * kStrip);
    out = take(kChunk * kStrip);
    v = take(kChunk * kStrip);
  }
};

void normalize_row(const CpuKernels& kernels, float* x, int64_t count, float factor) {
  kernels.scale(x, count, factor / std::sqrt(kernels.dot(x, x, count) + kL2Eps));
}

void load_q_and_k(const CpuContext& context, const DeltaRuleRows& rows, const Scratch& scratch) {
  const float q_scale = 1.0F / std::sqrt(static_cast<float>(rows.dk));
  for (int64_t i = 0; i < rows.rows; ++i) {
    load_row(context, rows.q, i * rows.qk_stride, rows.dk, scratch.q + i * rows.dk);
    load_row(context, rows.k, i * rows.qk_stride, rows.dk, scratch.k + i * rows.dk);
    normalize_row(*context.kernels, scratch.q + i * rows.dk, rows.dk, q_scale);
    normalize_row(*context.kernels, scratch.k + i * rows.dk, rows.dk, 1.0F);
  }
}

// decay[j] = D_ij for j <= i.
void decay_row(const CpuKernels& kernels, const Gates& gates, int64_t i, float* decay) {
  for (int64_t j = 0; j <= i; ++j) {
    decay[j] = static_cast<float>(std::min(gates.G[i] - gates.G[j], 0.0));
  }
  kernels.exp(decay, i + 1);
}

// x Kᵀ of the tokens [32 panel, 32 panel + 32) for rows from there on: those before see none of
// them.
void multiply_by_k(const CpuKernels& kernels, const Scratch& scratch, const float* x, int64_t dk,
                   int64_t panel, int64_t padded) {
  const int64_t first = panel * kStrip;
  multiply_all(kernels, {.a = x + first * dk,
                         .row_stride = dk,
                         .k_stride = 1,
                         .panel = scratch.k_t + panel * dk * kStrip,
                         .c = scratch.products + first * kStrip,
                         .k = dk,
                         .rows = padded - first});
}

// The triangles a, its diagonal blocks, and p, for `padded` rows.
void make_triangles(const CpuKernels& kernels, const DeltaRuleRows& rows, const Scratch& scratch,
                    const Gates& gates, int64_t padded) {
  std::fill(scratch.k_t, scratch.k_t + kChunk * rows.dk, 0.0F);
  for (int64_t i = 0; i < rows.rows; ++i) {
    float* column = scratch.k_t + i / kStrip * rows.dk * kStrip + i % kStrip;
    for (int64_t d = 0; d < rows.dk; ++d) {
      column[d * kStrip] = scratch.k[i * rows.dk + d];
    }
  }
  std::fill(scratch.a, scratch.a + kChunk * kChunk, 0.0F);
  std::fill(scratch.p, scratch.p + kChunk * kChunk, 0.0F);
  for (int64_t panel = 0; panel * kStrip < padded; ++panel) {
    const int64_t first = panel * kStrip;
    multiply_by_k(kernels, scratch, scratch.k, rows.dk, panel, padded);
    for (int64_t i = first; i < padded; ++i) {
      const int64_t count = std::min(kStrip, i - first);
      for (int64_t j = 0; j < count; ++j) {
        scratch.a[i * kChunk + first + j] = -gates.beta[i] * scratch.products[i * kStrip + j];
      }
    }
    multiply_by_k(kernels, scratch, scratch.q, rows.dk, panel, padded);
    for (int64_t i = first; i < padded; ++i) {
      const int64_t count = std::min(kStrip, i - first + 1);
      std::copy_n(scratch.products + i * kStrip, count, scratch.p + i * kChunk + first);
    }
  }
  float decay[kChunk];
  for (int64_t i = 0; i < padded; ++i) {
    decay_row(kernels, gates, i, decay);
    float* a = scratch.a + i * kChunk;
    float* p = scratch.p + i * kChunk;
    for (int64_t j = 0; j <= i; ++j) {
      a[j] *= decay[j];
      p[j] *= decay[j];
    }
    std::copy_n(a + i / kSolveRows * kSolveRows, kSolveRows, scratch.diagonal + i * kSolveRows);
  }
}

void chunk_strip(const CpuContext& context, const DeltaRuleRows& rows, const Scratch& scratch,
                 const Gates& gates, int64_t padded, int64_t strip) {
  const CpuKernels& kernels = *context.kernels;
  const int64_t dk = rows.dk;
  float* state = rows.state + strip * dk * kStrip;
  load_v_strip(context, rows, strip, scratch.v);
  std::fill(scratch.v + rows.rows * kStrip, scratch.v + padded * kStrip, 0.0F);
  StridedTile by_state{
      .a = scratch.k, .row_stride = dk, .k_stride = 1, .panel = state, .k = dk, .rows = padded};
  by_state.c = scratch.fresh;
  multiply_all(kernels, by_state);
  by_state.a = scratch.q;
  by_state.c = scratch.out;
  multiply_all(kernels, by_state);

  kernels.delta_residual(scratch.fresh, padded, scratch.v, gates.e_G, gates.beta);
  substitute(kernels, scratch.a, scratch.diagonal, scratch.fresh, padded);

  kernels.scale_rows(scratch.out, padded, gates.e_G);
  for (int64_t block = 0; block < padded; block += kSolveRows) {
    multiply_all(kernels, {.a = scratch.p + block * kChunk,
                           .row_stride = kChunk,
                           .k_stride = 1,
                           .panel = scratch.fresh,
                           .c = scratch.out + block * kStrip,
                           .k = block + kSolveRows,
                           .rows = kSolveRows,
                           .accumulate = true});
  }
  store_out_strip(context, rows, strip, scratch.out);

  kernels.scale_rows(scratch.fresh, padded, gates.to_end);
  kernels.scale(state, dk * kStrip, gates.e_G_last);
  multiply_all(kernels, {.a = scratch.k,
                         .row_stride = 1,
                         .k_stride = dk,
                         .panel = scratch.fresh,
                         .c = state,
                         .k = padded,
                         .rows = dk,
                         .accumulate = true});
}

}  // namespace

int64_t delta_rule_strips(int64_t dv) {
  return (dv + kStrip - 1) / kStrip;
}

int64_t delta_rule_scratch_bytes(int64_t dk) {
  const int64_t floats =
      3 * kChunk * dk + 2 * kChunk * kChunk + kChunk * kSolveRows + 4 * kChunk * kStrip;
  return std::max(floats * static_cast<int64_t>(sizeof(float)), delta_rule_tile_scratch_bytes(dk));
}

void delta_rule_recurrent(const CpuContext& context, const DeltaRuleRows& rows, float* memory) {
  DS_CHECK(rows.rows <= kChunk);
  const CpuKernels& kernels = *context.kernels;
  const Scratch scratch(memory, rows.dk);
  load_q_and_k(context, rows, scratch);
  float decay[kChunk];
  float kq[kChunk];
  for (int64_t i = 0; i < rows.rows; ++i) {
    decay[i] = std::exp(rows.g[i * rows.gate_stride]);
    kq[i] = kernels.dot(scratch.k + i * rows.dk, scratch.q + i * rows.dk, rows.dk);
  }
  for (int64_t strip = rows.strips.begin; strip < rows.strips.end; ++strip) {
    load_v_strip(context, rows, strip, scratch.v);
    for (int64_t i = 0; i < rows.rows; ++i) {
      kernels.delta_rule_step({.state = rows.state + strip * rows.dk * kStrip,
                               .q = scratch.q + i * rows.dk,
                               .k = scratch.k + i * rows.dk,
                               .v = scratch.v + i * kStrip,
                               .out = scratch.out + i * kStrip,
                               .dk = rows.dk,
                               .decay = decay[i],
                               .beta = rows.beta[i * rows.gate_stride],
                               .kq = kq[i]});
    }
    store_out_strip(context, rows, strip, scratch.out);
  }
}

void delta_rule_chunk(const CpuContext& context, const DeltaRuleRows& rows, float* memory) {
  DS_CHECK(rows.rows <= kChunk);
  if (delta_rule_on_tiles(context, rows.dk)) {
    delta_rule_chunk_tiles(context, rows, memory);
    return;
  }
  const CpuKernels& kernels = *context.kernels;
  const Scratch scratch(memory, rows.dk);
  // Rows up to a whole block of the substitution: k = q = v = 0, beta = 0, g = 0 changes nothing.
  const int64_t padded = (rows.rows + kSolveRows - 1) / kSolveRows * kSolveRows;
  load_q_and_k(context, rows, scratch);
  for (float* x : {scratch.q, scratch.k}) {
    std::fill(x + rows.rows * rows.dk, x + padded * rows.dk, 0.0F);
  }
  const Gates gates = load_gates(kernels, rows);
  make_triangles(kernels, rows, scratch, gates, padded);
  for (int64_t strip = rows.strips.begin; strip < rows.strips.end; ++strip) {
    chunk_strip(context, rows, scratch, gates, padded, strip);
  }
}

}  // namespace deltaserve
