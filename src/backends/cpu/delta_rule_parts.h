// What the forms of the gated delta rule share: gates, loads and stores of strips, the
// substitution. Internal to delta_rule*.cc.
#pragma once

#include <cstdint>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/delta_rule.h"
#include "backends/cpu/isa/kernel_table.h"
#include "ops/batch_view.h"
#include "ops/delta_args.h"

namespace deltaserve {

inline constexpr int64_t kStrip = kPanelColumns;
inline constexpr int64_t kChunk = kChunkSize;

// Decays and gates of a chunk. The running sum is kept in double: after a few hundred of -320 a
// float would lose the small decays that follow.
struct Gates {
  double G[kChunk];
  float beta[kChunk];
  float e_G[kChunk];     // e^G_i
  float to_end[kChunk];  // e^(G_last - G_i)
  float e_G_last;
};

Gates load_gates(const CpuKernels& kernels, const DeltaRuleRows& rows);

// `count` elements of X from `offset` on as float32.
void load_row(const CpuContext& context, const void* x, int64_t offset, int64_t count, float* out);

// v's columns of a strip as [rows][32], zero beyond dv.
void load_v_strip(const CpuContext& context, const DeltaRuleRows& rows, int64_t strip, float* v);

// out: [rows][32].
void store_out_strip(const CpuContext& context, const DeltaRuleRows& rows, int64_t strip,
                     const float* out);

// `all` describes all its rows; they are done in tiles that the kernel takes.
void multiply_all(const CpuKernels& kernels, const StridedTile& all);

// fresh [padded][32]: R becomes N. a: [64][64], minus the strictly lower triangle of the system;
// diagonal: its blocks, [64 / 16][16][16]; padded: a multiple of 16.
void substitute(const CpuKernels& kernels, const float* a, const float* diagonal, float* fresh,
                int64_t padded);

// delta_rule_chunk on bfloat16 tiles: whether context and shape allow it, and the chunk itself.
bool delta_rule_on_tiles(const CpuContext& context, int64_t dk);
int64_t delta_rule_tile_scratch_bytes(int64_t dk);
void delta_rule_chunk_tiles(const CpuContext& context, const DeltaRuleRows& rows, float* memory);

}  // namespace deltaserve
