// What the kernels on AMX tiles take beyond those of every instruction set. Plain structs, as in
// kernel_table.h.
#pragma once

#include <cstdint>

namespace deltaserve {

// Whole tiles of max_rows rows times several panels, over a part of K that fits the caches:
// c[panels][tiles][max_rows][32] (+)= a * panel, with the bits of GemmTile.
struct GemmBlock {
  const void* a = nullptr;  // the first packed tile, at the first k of this call
  int64_t a_tile_bytes = 0;
  int64_t tiles = 0;
  const void* panel = nullptr;  // at the first k
  int64_t panel_bytes = 0;
  int64_t panels = 0;
  float* c = nullptr;
  int64_t c_panel_floats = 0;  // from the sums of one panel to those of the next
  int64_t k = 0;
  bool accumulate = false;
  // What the next block reads, as much as this one, to bring to L2 meanwhile.
  const void* next_a = nullptr;
  const void* next_panel = nullptr;
};

inline constexpr int64_t kDeltaChunk = 64;  // tokens

// c[row_tiles][32][32] (+)= a * panel on bfloat16 tiles. Factors may be split, a + a_low and panel
// + panel_low; the product of both low parts is left out.
struct SplitProduct {
  const uint16_t* a = nullptr;      // [row_tiles][k / 32][32 rows][32]
  const uint16_t* a_low = nullptr;  // may be null
  const uint16_t* panel = nullptr;
  const uint16_t* panel_low = nullptr;  // may be null
  float* c = nullptr;
  int64_t row_tiles = 0;
  int64_t k = 0;
  bool triangular = false;  // row tile t has zeros from k = 32 (t + 1) on
  bool accumulate = false;
};

// With D_ij = e^min(0, G_i - G_j) for j <= i: a_ij = row_k_i D_ij column_j kk_ij for j < i, and
// p_ij = row_q_i D_ij column_j qk_ij for j <= i; zero beyond.
struct DeltaTriangles {
  int64_t rows = 0;           // 32 or 64
  const float* kk = nullptr;  // [2 panels][64][32] K Kᵀ
  const float* qk = nullptr;
  const double* G = nullptr;      // [64]
  const float* row_k = nullptr;   // [64]
  const float* row_q = nullptr;   // [64]
  const float* column = nullptr;  // [64]
  float* a = nullptr;             // [64][64]
  float* diagonal = nullptr;      // [64 / 16][16][16] blocks of a
  uint16_t* p = nullptr;          // row tiles, split
  uint16_t* p_low = nullptr;
};

// Rows of bfloat16, of q or k, as row tiles [k / 32][32][32].
struct DeltaRowTiles {
  const uint16_t* x = nullptr;  // [rows][k]
  int64_t stride = 0;
  int64_t rows = 0;
  int64_t padded = 0;  // rows from `rows` to here are zero
  int64_t k = 0;
  uint16_t* tiles = nullptr;
  float* squares = nullptr;  // [rows] sums of squares
};

// A strip's new values on their way through a chunk; all [rows][32], float32 where not said.
struct DeltaStripRows {
  int64_t rows = 0;     // of the chunk
  int64_t padded = 0;   // v counts as zero from `rows` to here
  int64_t columns = 0;  // of v and out, up to 32
};

// The chunks of the gated delta rule on tiles; null without them.
struct DeltaTileKernels {
  void (*multiply)(const SplitProduct& product) = nullptr;
  void (*load_rows)(const DeltaRowTiles& rows) = nullptr;
  // x[k][32] to a panel and what its rounding left over; x is then multiplied by `factor`.
  void (*split_panel)(float* x, int64_t k, float factor, uint16_t* high, uint16_t* low) = nullptr;
  // values[padded][32] to a panel and what its rounding left over, and each row's values times its
  // factor to another.
  void (*split_values)(const float* values, int64_t padded, const float* factors, uint16_t* high,
                       uint16_t* low, uint16_t* scaled_high, uint16_t* scaled_low) = nullptr;
  // c[r] = beta[r] * (v[r] - decay[r] * c[r]), v bfloat16.
  void (*residual)(const DeltaStripRows& strip, float* c, const uint16_t* v, int64_t stride,
                   const float* decay, const float* beta) = nullptr;
  // out[r] = factor[r] * by_state[r] + by_values[r], rounded to bfloat16.
  void (*finish)(const DeltaStripRows& strip, const float* by_state, const float* factor,
                 const float* by_values, uint16_t* out, int64_t stride) = nullptr;
  // A row tile [k / 32][32][32] as a panel with its rows as columns, and as step `step` of `steps`
  // of the row tiles [k / 32][steps][32][32] of its transpose.
  void (*transpose)(const uint16_t* rows, int64_t k, int64_t step, int64_t steps, uint16_t* panel,
                    uint16_t* transposed) = nullptr;
  void (*triangles)(const DeltaTriangles& triangles) = nullptr;
};

inline constexpr int64_t kAttentionTileTokens = 32;  // two blocks of the KV cache

// Query vectors against one split (kv_layout.h has the blocks' layout).
struct AttentionTiles {
  int64_t count = 0;                 // 1..32
  const float* q = nullptr;          // [count][head_dim], exact in bfloat16
  const int64_t* lengths = nullptr;  // [count] tokens that each sees
  int64_t tokens = 0;                // the largest of them
  const int32_t* blocks = nullptr;
  const uint16_t* cache = nullptr;  // at this kv head's K of block 0
  int64_t block_stride = 0;
  int64_t head_dim = 0;  // a multiple of 32
  float scale = 0.0F;
  float* scores = nullptr;  // [count][score_stride]
  int64_t score_stride = 0;
  float* largest = nullptr;          // [count] of a vector's scores
  float* sums = nullptr;             // [count] of e^(score - largest)
  uint16_t* packed = nullptr;        // scratch of count * max(head_dim, 2 * score_stride)
  const uint16_t* values = nullptr;  // V by pack_values; null: from the cache
  int64_t value_steps = 0;           // 32 tokens each, of `values`
  float* out = nullptr;              // [count][head_dim]
};

}  // namespace deltaserve
