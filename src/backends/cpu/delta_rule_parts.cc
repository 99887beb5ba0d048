#include "backends/cpu/delta_rule_parts.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels.h"
#include "backends/cpu/tile_store.h"

namespace deltaserve {
namespace {

int64_t strip_columns(const DeltaRuleRows& rows, int64_t strip) {
  return std::min(kStrip, rows.dv - strip * kStrip);
}

}  // namespace

void load_row(const CpuContext& context, const void* x, int64_t offset, int64_t count, float* out) {
  if (context.compute_dtype == DType::kBF16) {
    context.kernels->widen(static_cast<const uint16_t*>(x) + offset, count, out);
  } else {
    std::memcpy(out, static_cast<const float*>(x) + offset,
                static_cast<size_t>(count) * sizeof(float));
  }
}

void load_v_strip(const CpuContext& context, const DeltaRuleRows& rows, int64_t strip, float* v) {
  const int64_t columns = strip_columns(rows, strip);
  for (int64_t i = 0; i < rows.rows; ++i, v += kStrip) {
    load_row(context, rows.v, i * rows.v_stride + strip * kStrip, columns, v);
    std::fill(v + columns, v + kStrip, 0.0F);
  }
}

void store_out_strip(const CpuContext& context, const DeltaRuleRows& rows, int64_t strip,
                     const float* out) {
  const TileStore to = {*context.kernels, context.compute_dtype, rows.out, rows.out_stride};
  to.store(out, 0, rows.rows, strip * kStrip, strip_columns(rows, strip));
}

void multiply_all(const CpuKernels& kernels, const StridedTile& all) {
  const int64_t tiles = (all.rows + kernels.max_rows - 1) / kernels.max_rows;
  for (int64_t t = 0; t < tiles; ++t) {
    const IndexRange range = split_range(all.rows, tiles, t);
    StridedTile tile = all;
    tile.a = all.a + range.begin * all.row_stride;
    tile.c = all.c + range.begin * kStrip;
    tile.rows = range.end - range.begin;
    kernels.multiply_strided(tile);
  }
}

Gates load_gates(const CpuKernels& kernels, const DeltaRuleRows& rows) {
  Gates gates;
  double sum = 0.0;
  for (int64_t i = 0; i < kChunk; ++i) {
    const bool present = i < rows.rows;
    sum += present ? rows.g[i * rows.gate_stride] : 0.0F;
    gates.G[i] = sum;
    gates.beta[i] = present ? rows.beta[i * rows.gate_stride] : 0.0F;
    gates.e_G[i] = static_cast<float>(sum);
  }
  for (int64_t i = 0; i < kChunk; ++i) {
    gates.to_end[i] = static_cast<float>(std::min(sum - gates.G[i], 0.0));
  }
  kernels.exp(gates.e_G, kChunk);
  kernels.exp(gates.to_end, kChunk);
  gates.e_G_last = gates.e_G[kChunk - 1];
  return gates;
}

void substitute(const CpuKernels& kernels, const float* a, const float* diagonal, float* fresh,
                int64_t padded) {
  for (int64_t block = 0; block < padded; block += kSolveRows) {
    float* c = fresh + block * kStrip;
    if (block > 0) {
      multiply_all(kernels, {.a = a + block * kChunk,
                             .row_stride = kChunk,
                             .k_stride = 1,
                             .panel = fresh,
                             .c = c,
                             .k = block,
                             .rows = kSolveRows,
                             .accumulate = true});
    }
    kernels.solve_block(c, diagonal + block * kSolveRows);
  }
}

}  // namespace deltaserve
