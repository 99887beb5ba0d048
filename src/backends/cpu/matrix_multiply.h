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

// Rows in the order in which kernels read them: tiles of at most max_rows rows, nearly equal, each
// packed by MatrixKernels::pack.
struct PackedRows {
  std::byte* data = nullptr;
  int64_t rows = 0;
  int64_t max_tile_rows = 0;  // the kernels' max_rows
  int64_t tiles = 0;
  int64_t k = 0;  // as the kernels see it: K to an even number, for integers to a multiple of 32
  int64_t row_bytes = 0;

  IndexRange tile(int64_t index) const { return split_range(rows, tiles, index); }
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

// One thread's task of up to kMaxTaskRows rows; `scratch` has at least kTileScratchBytes.
void multiply_task(const MultiplyTask& task, float* scratch, TileSink sink);

// How many panels and row tiles a task takes, so that `threads` threads find work and a task's
// accumulators fit kTileScratchBytes.
struct TaskShape {
  int64_t panels = 1;
  int64_t tiles = 1;
};
TaskShape choose_task_shape(int64_t threads, int64_t panels, const PackedRows& rows);

// Rows and panels of a task whose accumulators stay in L2 together: 192 KiB.
inline constexpr int64_t kMaxTaskRows = 384;
inline constexpr int64_t kMaxTaskPanels = 4;
inline constexpr int64_t kTileScratchBytes = kMaxTaskRows * kMaxTaskPanels * kPanelColumns * 4;

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
