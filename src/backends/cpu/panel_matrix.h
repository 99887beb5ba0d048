// Weight matrices in panels of 32 output columns with K ascending, one layout for every M and every
// instruction set. A panel is one contiguous stream of K * 64 bytes (bfloat16) or K * 128
// (float32):
//   bfloat16: per 32 of K two tiles of [16 k-pairs][16 columns][2];  float32: [k][32].
// Quantised weights: groups of integers, each followed by its scales (isa/gemm_int8.inc and
// isa/gemm_int4.inc).
// Columns beyond N and K beyond its end (to a multiple of 32) are zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/function_ref.h"
#include "backends/cpu/isa/kernel_table.h"
#include "backends/cpu/memory.h"
#include "base/error.h"
#include "tensor/tensor_view.h"

namespace deltaserve {

struct PanelMatrix {
  HugeBuffer data;
  int64_t K = 0;
  int64_t panels = 0;  // of all matrices in `data`, which follow each other
  int64_t panel_bytes = 0;
  DType dtype = DType::kBF16;  // kBF16, kF32, or kI8 and kU8: integers of 8 and 4 bits

  const std::byte* panel(int64_t index) const { return data.data() + index * panel_bytes; }
};

// What of `kernels` serves a number of rows that are multiplied together.
inline const MatrixKernels& kernels_for_rows(const MatrixKernels& kernels, int64_t rows) {
  return rows <= kernels.few_rows ? *kernels.few : kernels;
}

// The row of a checkpoint tensor that becomes a column; no view: a column of zeros.
struct SourceRow {
  const TensorView* view = nullptr;
  int64_t row = 0;
};

// The panel dtype for sources of these types: bfloat16 unless activations and a source are wider;
// integers stay what they are.
DType panel_dtype(const CpuContext& context, DType source);

// The panel dtype of sources that share panels, source by source: `joined` starts as nothing.
// Errors: integers beside floats, or of two sizes.
Result<void> join_panel_dtype(const CpuContext& context, DType source,
                              std::optional<DType>& joined);

// Bytes of the first k of K of a panel; k is the whole of it or a multiple of 64.
int64_t panel_offset(DType dtype, int64_t k);

// Lays out `panels` panels in parallel; row_of(c) for c in [0, 32 * panels) names the source of a
// column. Sources have K columns and a float type, or all the integer type `dtype`. Each of the
// placement's nodes gets its share of the panels; of `experts` that share follow each other there.
Result<PanelMatrix> make_panels(CpuContext& context, int64_t panels, int64_t K, DType dtype,
                                FunctionRef<SourceRow(int64_t)> row_of, int64_t experts = 1);

// The kernel that multiplies activations of the context's dtype by panels of this dtype.
const MatrixKernels& matrix_kernels(const CpuContext& context, DType panel_dtype);

// Errors that name what is wrong with a weight: not [rows, columns], not a float type, not
// quantised in the groups that kernels have.
Result<void> check_matrix(const TensorView& view, int64_t columns);

}  // namespace deltaserve
