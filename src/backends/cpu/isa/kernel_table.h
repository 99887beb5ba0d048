// The functions that exist once per instruction set, as a table of pointers. The files that fill it
// are compiled with instructions other machines lack, so this header (and all they include) has
// only plain structs: an inline function emitted there could be chosen by the linker for everyone.
#pragma once

#include <cstdint>

#include "backends/cpu/isa/tile_args.h"

namespace deltaserve {

inline constexpr int64_t kPanelColumns = 32;  // output columns of a weight panel
inline constexpr int64_t kPanelKStep = 32;    // K of a panel is padded to it with zeros
inline constexpr int64_t kMaxTileRows = 32;   // no kernel takes more rows at once

// c[panels][rows][32] (+)= a[rows][k] * panel[k][32]. Every element is one chain of fused
// multiply-adds in an order that depends on k only (within a pair of k the odd one first, as
// VDPBF16PS has it; on AMX, that of TDPBF16PS over steps of 32), so splitting K or the rows never
// changes a bit.
struct GemmTile {
  const void* a = nullptr;      // rows packed by the `pack` beside the kernel
  const void* panel = nullptr;  // at the first k of this call
  int64_t panel_bytes = 0;      // from one panel to the next
  int64_t panels = 1;  // 2, without prefetch_to_l2: two streams from memory are faster than one
  float* c = nullptr;  // [panels][rows][32]
  int64_t k = 0;       // even; for integer panels a multiple of 32, whole groups but at K's end
  int64_t rows = 0;    // panels * rows is 1..max_rows of the kernel
  bool accumulate = false;  // false: start from zero
  // Memory to bring near meanwhile, as much as the part of each panel that is read here: to L1, or
  // only to L2 where L1 is full of what several row tiles share.
  const void* prefetch = nullptr;
  bool prefetch_to_l2 = false;
};

// c[rows][32] (+)= a * panel[k][32] in float32, a's element (r, k) at r * row_stride + k *
// k_stride.
struct StridedTile {
  const float* a = nullptr;
  int64_t row_stride = 0;
  int64_t k_stride = 0;
  const float* panel = nullptr;
  float* c = nullptr;
  int64_t k = 0;
  int64_t rows = 0;  // 1..max_rows
  bool accumulate = false;
};

// Elements along K that share a scale in integer panels; the tensors have the same groups
// (tensor/quantize.h).
inline constexpr int64_t kInt8Group = 64;
inline constexpr int64_t kInt4Group = 32;
// Elements along K of a row that share a scale beside 4-bit panels.
inline constexpr int64_t kInt4RowGroup = 128;
inline constexpr int64_t kPanelScaleBytes = kPanelColumns * 2;  // of one group, bfloat16

struct MatrixKernels {
  // Packs `rows` (1..max_rows) rows of x, `stride` elements apart, for `multiply`: K outermost, so
  // that a part of K is contiguous. An odd K gets a zero appended.
  void (*pack)(const void* x, int64_t stride, int64_t rows, int64_t K, void* packed) = nullptr;
  void (*multiply)(const GemmTile& tile) = nullptr;
  int64_t packed_element_bytes = 0;
  const char* name = nullptr;
  int64_t max_rows = 0;            // panels * rows of a tile
  int64_t group = 0;               // of rows for integer panels; else 0
  int64_t packed_group_bytes = 0;  // beside the elements, for each row and group
  int64_t packed_k = 2;            // K is packed to a multiple of it
  // Kernels with the same bits and bytes of packed rows that serve up to `few_rows` rows better.
  const MatrixKernels* few = nullptr;
  int64_t few_rows = 0;
  // Only where many rows are worth more than `multiply` for each tile and panel.
  void (*multiply_block)(const GemmBlock& block) = nullptr;
  // Rows and panels of a task, whose sums (192 KiB) stay in L2 together, and K of a pass: 256 are
  // 16 KiB of a bfloat16 panel, half of the smallest L1, and stay there while the rows pass.
  int64_t task_rows = 384;
  int64_t task_panels = 4;
  int64_t block_k = 256;
  // How far ahead one tile prefetches in bytes, with one panel and with two. Measured on Zen 4 with
  // both cores: two streams 1 KiB ahead read 55 GB/s, one stream 38 to 42 whatever the distance.
  int64_t one_stream_ahead = 8192;
  int64_t two_streams_ahead = 1024;
};

// One strip (32 value columns) of one head of the gated delta rule, one token:
// m = Sᵀk; d = beta (v - decay m); out = Sᵀq of the new state; S = decay S + k dᵀ.
struct DeltaRuleStep {
  float* state = nullptr;    // [dk][32]
  const float* q = nullptr;  // [dk] normalised and scaled
  const float* k = nullptr;  // [dk] normalised
  const float* v = nullptr;  // [32]
  float* out = nullptr;      // [32]
  int64_t dk = 0;
  float decay = 0.0F;  // e^g
  float beta = 0.0F;
  float kq = 0.0F;  // k · q
};

inline constexpr int64_t kSolveRows = 16;  // rows of a block of the forward substitution

struct CpuKernels {
  const char* name = nullptr;
  int64_t max_rows = 0;      // rows of a tile
  MatrixKernels bf16;        // activations bf16, panels bf16
  MatrixKernels short_bf16;  // for K that is no multiple of 32
  MatrixKernels f32_bf16;    // activations float32, panels bf16
  MatrixKernels f32;         // both float32
  MatrixKernels int8;        // activations bf16, panels of 8-bit integers (gemm_int8.inc)
  MatrixKernels int4;        // panels of 4-bit integers (gemm_int4.inc)
  MatrixKernels f32_int8;    // activations float32
  MatrixKernels f32_int4;

  // Tile epilogues: c[rows][32] to `columns` (<= 32) columns of out.
  void (*store_bf16)(const float* c, int64_t rows, int64_t columns, uint16_t* out,
                     int64_t stride) = nullptr;
  void (*store_f32)(const float* c, int64_t rows, int64_t columns, float* out,
                    int64_t stride) = nullptr;
  // c holds 16 gate and 16 up columns: c[rows][0..16) = silu(gate) * up, in place.
  void (*silu_mul)(float* c, int64_t rows) = nullptr;

  // Parts of the gated delta rule; c is always [rows][32].
  void (*multiply_strided)(const StridedTile& tile) = nullptr;
  void (*delta_rule_step)(const DeltaRuleStep& step) = nullptr;
  // c[r] *= factor[r].
  void (*scale_rows)(float* c, int64_t rows, const float* factor) = nullptr;
  // c[r] = beta[r] * (v[r] - decay[r] * c[r]).
  void (*delta_residual)(float* c, int64_t rows, const float* v, const float* decay,
                         const float* beta) = nullptr;
  // kSolveRows rows: c[i] += sum over j < i of a[i * kSolveRows + j] * c[j], i ascending.
  void (*solve_block)(float* c, const float* a) = nullptr;
  // On tiles; null without them.
  DeltaTileKernels delta_tiles;
  // Scores of the tokens up to a multiple of 32.
  void (*attention_scores)(const AttentionTiles& split) = nullptr;
  // Their softmax weights in two bfloat16 to `packed`, with largest and sums.
  void (*attention_softmax)(const AttentionTiles& split) = nullptr;
  // V of `tokens` as panels [head_dim / 32][tokens / 32 rounded up][2][16][16][2], zero behind.
  void (*attention_pack_values)(const AttentionTiles& split, uint16_t* values) = nullptr;
  // The weighted sums of V to `out`.
  void (*attention_values)(const AttentionTiles& split) = nullptr;

  // Vectors of any length.
  void (*exp)(float* x, int64_t count) = nullptr;  // in place, 2 ulp, 0 below -87.3
  float (*dot)(const float* a, const float* b, int64_t count) = nullptr;
  void (*scale)(float* x, int64_t count, float factor) = nullptr;
  void (*axpy)(float* y, const float* x, int64_t count, float factor) = nullptr;  // y += factor x
  void (*widen)(const uint16_t* bf16, int64_t count, float* out) = nullptr;
  void (*narrow)(const float* x, int64_t count, uint16_t* bf16) = nullptr;  // nearest even

  // What the machine can do at most (ceilings.h). The results only keep the work alive.
  float (*run_fma)(int64_t iterations) = nullptr;  // float32 in registers
  float (*run_bf16)(int64_t iterations) = nullptr;
  int64_t fma_flop = 0;                                               // of one iteration
  int64_t bf16_flop = 0;                                              // of one iteration
  float (*read_memory)(const void* memory, int64_t bytes) = nullptr;  // a multiple of 4 KiB
};

}  // namespace deltaserve
