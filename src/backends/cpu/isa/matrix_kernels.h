// The matrix kernels of an instruction set: tiles of rows times weight panels. Plain structs, as in
// kernel_table.h.
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

}  // namespace deltaserve
