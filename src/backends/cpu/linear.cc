// linear and gate_up_silu over panels, and the weights they use.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "backends/cpu/kernels.h"
#include "backends/cpu/linear_weight.h"
#include "backends/cpu/matrix_multiply.h"
#include "backends/cpu/matrix_ops.h"
#include "backends/cpu/panel_matrix.h"
#include "backends/cpu/tile_store.h"
#include "base/check.h"
#include "base/error.h"

namespace deltaserve {
namespace {

constexpr int64_t kHalfPanel = kPanelColumns / 2;

struct CpuGateUpWeight final : GateUpWeight {
  PanelMatrix matrix;
};

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

void reserve_packed_rows(CpuContext& context, int64_t K) {
  context.require_shared_scratch(static_cast<size_t>(packed_bytes(kRowBlock, K)));
}

int64_t count_rows(std::span<const TensorView> parts) {
  return std::accumulate(parts.begin(), parts.end(), int64_t{0},
                         [](int64_t sum, const TensorView& part) { return sum + part.shape[0]; });
}

Result<PanelMatrix> stack_parts(CpuContext& context, std::span<const TensorView> parts, int64_t K) {
  std::optional<DType> dtype;
  for (const TensorView& part : parts) {
    if (Result<void> joined = join_panel_dtype(context, part.dtype, dtype); !joined) {
      return std::unexpected(joined.error());
    }
  }
  const auto row_of = [&](int64_t column) -> SourceRow {
    for (const TensorView& part : parts) {
      if (column < part.shape[0]) {
        return {.view = &part, .row = column};
      }
      column -= part.shape[0];
    }
    return {};
  };
  return make_panels(context, ceil_div(count_rows(parts), kPanelColumns), K, *dtype, row_of);
}

}  // namespace

Result<std::unique_ptr<LinearWeight>> make_cpu_linear(CpuContext& context,
                                                      std::span<const TensorView> parts) {
  if (parts.empty() || parts[0].shape.size() != 2) {
    return invalid("a linear weight needs at least one part of shape [rows, columns]");
  }
  auto weight = std::make_unique<CpuLinearWeight>();
  weight->K = parts[0].shape[1];
  for (const TensorView& part : parts) {
    if (Result<void> checked = check_matrix(part, weight->K); !checked) {
      return std::unexpected(checked.error());
    }
    weight->N += part.shape[0];
  }
  // Projections and, unquantised, the gates behind them: two matrices.
  const bool first_quantized = parts[0].is_quantized();
  const auto split = std::ranges::find_if(
      parts, [&](const TensorView& part) { return first_quantized && !part.is_quantized(); });
  const auto first = static_cast<size_t>(split - parts.begin());
  Result<PanelMatrix> matrix = stack_parts(context, parts.first(first), weight->K);
  if (!matrix) {
    return std::unexpected(matrix.error());
  }
  weight->matrix = std::move(*matrix);
  weight->matrix_columns = count_rows(parts.first(first));
  weight->bytes = weight->matrix.panels * weight->matrix.panel_bytes;
  weight->kernel = matrix_kernels(context, weight->matrix.dtype).name;
  if (first < parts.size()) {
    Result<PanelMatrix> tail = stack_parts(context, parts.subspan(first), weight->K);
    if (!tail) {
      return std::unexpected(tail.error());
    }
    weight->tail = std::move(*tail);
    weight->bytes += weight->tail.panels * weight->tail.panel_bytes;
  }
  reserve_packed_rows(context, weight->K);
  return weight;
}

Result<std::unique_ptr<GateUpWeight>> make_cpu_gate_up(CpuContext& context, const TensorView& gate,
                                                       const TensorView& up) {
  if (gate.shape.size() != 2 || gate.shape != up.shape) {
    return invalid("gate and up must both have the shape [rows, columns]");
  }
  auto weight = std::make_unique<CpuGateUpWeight>();
  weight->I = gate.shape[0];
  weight->K = gate.shape[1];
  std::optional<DType> dtype;
  for (const TensorView* part : {&gate, &up}) {
    if (Result<void> checked = check_matrix(*part, weight->K); !checked) {
      return std::unexpected(checked.error());
    }
    if (Result<void> joined = join_panel_dtype(context, part->dtype, dtype); !joined) {
      return std::unexpected(joined.error());
    }
  }
  const auto row_of = [&](int64_t column) -> SourceRow {
    const int64_t row = column / kPanelColumns * kHalfPanel + column % kHalfPanel;
    if (row >= weight->I) {
      return {};
    }
    return {.view = column % kPanelColumns < kHalfPanel ? &gate : &up, .row = row};
  };
  Result<PanelMatrix> matrix =
      make_panels(context, ceil_div(weight->I, kHalfPanel), weight->K, *dtype, row_of);
  if (!matrix) {
    return std::unexpected(matrix.error());
  }
  weight->matrix = std::move(*matrix);
  weight->bytes = weight->matrix.panels * weight->matrix.panel_bytes;
  weight->kernel = fmt::format("{}, silu * up", matrix_kernels(context, *dtype).name);
  reserve_packed_rows(context, weight->K);
  return weight;
}

void cpu_linear(CpuContext& context, const LinearArgs& args) {
  DS_CHECK(args.x_scale.squares == nullptr, "rows of another backend's linear_norm");
  const auto& weight = static_cast<const CpuLinearWeight&>(*args.weight);
  const TileStore out = {*context.kernels, args.out_float ? DType::kF32 : context.compute_dtype,
                         args.out, args.out_stride};
  const auto run = [&](const PanelMatrix& matrix, int64_t first, int64_t last) {
    multiply(context, {.matrix = &matrix, .x = args.x, .x_stride = args.x_stride, .M = args.M},
             [&](float* c, int64_t row, int64_t rows, int64_t panel) {
               const int64_t column = first + panel * kPanelColumns;
               out.store(c, row, rows, column, std::min(kPanelColumns, last - column));
             });
  };
  run(weight.matrix, 0, weight.matrix_columns);
  if (weight.matrix_columns < weight.N) {
    run(weight.tail, weight.matrix_columns, weight.N);
  }
}

void cpu_gate_up_silu(CpuContext& context, const GateUpSiluArgs& args) {
  DS_CHECK(args.x_scale.squares == nullptr, "rows of another backend's linear_norm");
  const auto& weight = static_cast<const CpuGateUpWeight&>(*args.weight);
  const TileStore out = {*context.kernels, context.compute_dtype, args.out, args.out_stride};
  multiply(context, {.matrix = &weight.matrix, .x = args.x, .x_stride = args.x_stride, .M = args.M},
           [&](float* c, int64_t row, int64_t rows, int64_t panel) {
             context.kernels->silu_mul(c, rows);
             const int64_t column = panel * kHalfPanel;
             out.store(c, row, rows, column, std::min(kHalfPanel, weight.I - column));
           });
}

}  // namespace deltaserve
