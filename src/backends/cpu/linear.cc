// linear and gate_up_silu over panels, and the weights they use.
#include <memory>
#include <span>

#include <fmt/format.h>

#include "backends/cpu/kernels.h"
#include "backends/cpu/matrix_multiply.h"
#include "backends/cpu/matrix_ops.h"
#include "backends/cpu/panel_matrix.h"
#include "base/check.h"

namespace deltaserve {
namespace {

constexpr int64_t kHalfPanel = kPanelColumns / 2;

struct CpuLinearWeight final : LinearWeight {
  PanelMatrix matrix;
};

struct CpuGateUpWeight final : GateUpWeight {
  PanelMatrix matrix;
};

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

void reserve_packed_rows(CpuContext& context, int64_t K) {
  context.require_shared_scratch(static_cast<size_t>(packed_bytes(kRowBlock, K)));
}

}  // namespace

Result<std::unique_ptr<LinearWeight>> make_cpu_linear(CpuContext& context,
                                                      std::span<const TensorView> parts) {
  if (parts.empty() || parts[0].shape.size() != 2) {
    return invalid("a linear weight needs at least one part of shape [rows, columns]");
  }
  auto weight = std::make_unique<CpuLinearWeight>();
  weight->K = parts[0].shape[1];
  DType dtype = DType::kBF16;
  for (const TensorView& part : parts) {
    if (Result<void> checked = check_matrix(part, weight->K); !checked) {
      return std::unexpected(checked.error());
    }
    weight->N += part.shape[0];
    if (panel_dtype(context, part.dtype) == DType::kF32) {
      dtype = DType::kF32;
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
  Result<PanelMatrix> matrix =
      make_panels(context, ceil_div(weight->N, kPanelColumns), weight->K, dtype, row_of);
  if (!matrix) {
    return std::unexpected(matrix.error());
  }
  weight->matrix = std::move(*matrix);
  weight->bytes = weight->matrix.panels * weight->matrix.panel_bytes;
  weight->kernel = matrix_kernels(context, dtype).name;
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
  DType dtype = DType::kBF16;
  for (const TensorView* part : {&gate, &up}) {
    if (Result<void> checked = check_matrix(*part, weight->K); !checked) {
      return std::unexpected(checked.error());
    }
    if (panel_dtype(context, part->dtype) == DType::kF32) {
      dtype = DType::kF32;
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
      make_panels(context, ceil_div(weight->I, kHalfPanel), weight->K, dtype, row_of);
  if (!matrix) {
    return std::unexpected(matrix.error());
  }
  weight->matrix = std::move(*matrix);
  weight->bytes = weight->matrix.panels * weight->matrix.panel_bytes;
  weight->kernel = fmt::format("{}, silu * up", matrix_kernels(context, dtype).name);
  reserve_packed_rows(context, weight->K);
  return weight;
}

void cpu_linear(CpuContext& context, const LinearArgs& args) {
  const auto& weight = static_cast<const CpuLinearWeight&>(*args.weight);
  const CpuKernels& kernels = *context.kernels;
  const bool to_float32 = args.out_float || context.compute_dtype == DType::kF32;
  multiply(context, {.matrix = &weight.matrix, .x = args.x, .x_stride = args.x_stride, .M = args.M},
           [&](float* c, int64_t row, int64_t rows, int64_t panel) {
             const int64_t column = panel * kPanelColumns;
             const int64_t columns = std::min(kPanelColumns, weight.N - column);
             const int64_t offset = row * args.out_stride + column;
             if (to_float32) {
               kernels.store_f32(c, rows, columns, static_cast<float*>(args.out) + offset,
                                 args.out_stride);
             } else {
               kernels.store_bf16(c, rows, columns, static_cast<uint16_t*>(args.out) + offset,
                                  args.out_stride);
             }
           });
}

void cpu_gate_up_silu(CpuContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CpuGateUpWeight&>(*args.weight);
  const CpuKernels& kernels = *context.kernels;
  multiply(context, {.matrix = &weight.matrix, .x = args.x, .x_stride = args.x_stride, .M = args.M},
           [&](float* c, int64_t row, int64_t rows, int64_t panel) {
             kernels.silu_mul(c, rows);
             const int64_t column = panel * kHalfPanel;
             const int64_t columns = std::min(kHalfPanel, weight.I - column);
             const int64_t offset = row * args.out_stride + column;
             if (context.compute_dtype == DType::kF32) {
               kernels.store_f32(c, rows, columns, static_cast<float*>(args.out) + offset,
                                 args.out_stride);
             } else {
               kernels.store_bf16(c, rows, columns, static_cast<uint16_t*>(args.out) + offset,
                                  args.out_stride);
             }
           });
}

}  // namespace deltaserve
