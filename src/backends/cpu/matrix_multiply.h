// Rows of activations times panels: how a product is cut into tiles, tasks and K blocks. The cut
// follows the number of rows and threads, the bits do not (isa/kernel_table.h).
#pragma once

#include <cstdint>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/function_ref.h"
#include "backends/cpu/isa/kernel_table.h"
#include "backends/cpu/panel_matrix.h"
#include "backends/cpu/threads.h"

namespace deltaserve {

// Rows in the order in which kernels read them: tiles of at most max_rows rows, each packed by
// MatrixKernels::pack. Nearly equal ones, or, for kernels that take blocks, full ones but the last.
struct PackedRows {
  std::byte* data = nullptr;
  int64_t rows = 0;
  int64_t max_tile_rows = 0;  // the kernels' max_rows
  int64_t tiles = 0;
  int64_t k = 0;  // as the kernels see it: a multiple of packed_k
  int64_t row_bytes = 0;
  bool full_tiles = false;
  int64_t tile_gap = 0;  // bytes behind each tile

  IndexRange tile(int64_t index) const {
    return full_tiles ? IndexRange{index * max_tile_rows,
                                   index + 1 < tiles ? (index + 1) * max_tile_rows : rows}
                      : split_range(rows, tiles, index);
  }
  std::byte* tile_data(int64_t index) const {
    return data + tile(index).begin * row_bytes + index * tile_gap;
  }
};

PackedRows packed_layout(const CpuContext& context, const MatrixKernels& kernels, int64_t rows,
                         int64_t K, std::byte* data);
// Bytes of the first k elements of a packed row; k is the whole of it or in whole groups.
int64_t packed_offset(const MatrixKernels& kernels, int64_t k);
int64_t packed_bytes(int64_t rows, int64_t K);  // enough for any kernel

// A finished tile: c[rows][32] of panel `panel`, rows from `row` on; may be changed in place.
using TileSink = FunctionRef<void(float* c, int64_t row, int64_t rows, int64_t panel)>;

struct MultiplyTask {
  const MatrixKernels* kernels = nullptr;
  const PackedRows* rows = nullptr;
  const PanelMatrix* matrix = nullptr;
  IndexRange tiles;   // of rows
  IndexRange panels;  // of matrix
};

// One thread's task of up to task_rows rows; `scratch` has at least kTileScratchBytes.
void multiply_task(const MultiplyTask& task, float* scratch, TileSink sink);

// How many panels and row tiles a task takes, so that `threads` threads find work and a task's
// accumulators fit kTileScratchBytes.
struct TaskShape {
  int64_t panels = 1;
  int64_t tiles = 1;
};
TaskShape choose_task_shape(int64_t threads, int64_t panels, const MatrixKernels& kernels,
                            const PackedRows& rows);

inline constexpr int64_t kMaxTaskRows = 384;  // no kernels' task_rows are fewer
// The sums of task_rows x task_panels of any kernels: at most 512 rows of 8 panels.
inline constexpr int64_t kTileScratchBytes = int64_t{512} * 8 * kPanelColumns * 4;

// Rows that are packed and multiplied together: the weights are read once for as many.
inline constexpr int64_t kRowBlock = 512;

struct MultiplyArgs {
  const PanelMatrix* matrix = nullptr;
  const void* x = nullptr;  // [M, K] X
  int64_t x_stride = 0;
  int64_t M = 0;
};

// The whole product on all threads. Uses the shared scratch.
void multiply(CpuContext& context, const MultiplyArgs& args, TileSink sink);

}  // namespace deltaserve
