// The functions that exist once per instruction set, as a table of pointers. The files that fill it
// are compiled with instructions other machines lack, so this header (and all they include) has
// only plain structs: an inline function emitted there could be chosen by the linker for everyone.
#pragma once

#include <cstdint>

#include "backends/cpu/isa/matrix_kernels.h"
#include "backends/cpu/isa/tile_args.h"

namespace deltaserve {

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
