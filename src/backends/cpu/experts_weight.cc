#include "backends/cpu/experts_weight.h"

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "backends/cpu/kernels.h"
#include "backends/cpu/matrix_ops.h"

namespace deltaserve {
namespace {

constexpr int64_t kHalfPanel = kPanelColumns / 2;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

Result<DType> check_experts(const CpuContext& context, std::span<const TensorView> gate,
                            std::span<const TensorView> up, std::span<const TensorView> down) {
  if (gate.empty() || gate.size() != up.size() || gate.size() != down.size() ||
      gate[0].shape.size() != 2) {
    return invalid("experts need one gate, up and down of two dimensions each");
  }
  const int64_t I = gate[0].shape[0];
  const int64_t H = gate[0].shape[1];
  std::optional<DType> dtype;
  for (size_t e = 0; e < gate.size(); ++e) {
    for (const auto& [view, columns] : {std::pair{&gate[e], H}, {&up[e], H}, {&down[e], I}}) {
      if (Result<void> checked = check_matrix(*view, columns); !checked) {
        return std::unexpected(checked.error());
      }
      if (Result<void> joined = join_panel_dtype(context, view->dtype, dtype); !joined) {
        return std::unexpected(joined.error());
      }
    }
    if (gate[e].shape[0] != I || up[e].shape[0] != I || down[e].shape[0] != H) {
      return invalid(fmt::format("expert {} differs in shape from expert 0", e));
    }
  }
  return *dtype;
}

}  // namespace

Result<std::unique_ptr<ExpertsWeight>> make_cpu_experts(CpuContext& context,
                                                        std::span<const TensorView> gate,
                                                        std::span<const TensorView> up,
                                                        std::span<const TensorView> down) {
  const Result<DType> dtype = check_experts(context, gate, up, down);
  if (!dtype) {
    return std::unexpected(dtype.error());
  }
  auto weight = std::make_unique<CpuExpertsWeight>();
  weight->E = static_cast<int64_t>(gate.size());
  weight->I = gate[0].shape[0];
  weight->H = gate[0].shape[1];
  const int64_t gate_up_columns = ceil_div(weight->I, kHalfPanel) * kPanelColumns;
  const int64_t down_columns = ceil_div(weight->H, kPanelColumns) * kPanelColumns;
  const auto gate_up_row = [&](int64_t column) -> SourceRow {
    const auto expert = static_cast<size_t>(column / gate_up_columns);
    const int64_t local = column % gate_up_columns;
    const int64_t row = local / kPanelColumns * kHalfPanel + local % kHalfPanel;
    if (row >= weight->I) {
      return {};
    }
    return {.view = local % kPanelColumns < kHalfPanel ? &gate[expert] : &up[expert], .row = row};
  };
  const auto down_row = [&](int64_t column) -> SourceRow {
    const int64_t row = column % down_columns;
    return row < weight->H
               ? SourceRow{.view = &down[static_cast<size_t>(column / down_columns)], .row = row}
               : SourceRow{};
  };
  Result<PanelMatrix> gate_up = make_panels(context, weight->E * gate_up_columns / kPanelColumns,
                                            weight->H, *dtype, gate_up_row);
  if (!gate_up) {
    return std::unexpected(gate_up.error());
  }
  Result<PanelMatrix> down_panels =
      make_panels(context, weight->E * down_columns / kPanelColumns, weight->I, *dtype, down_row);
  if (!down_panels) {
    return std::unexpected(down_panels.error());
  }
  weight->gate_up = std::move(*gate_up);
  weight->down = std::move(*down_panels);
  weight->bytes_per_expert = weight->gate_up_panels() * weight->gate_up.panel_bytes +
                             weight->down_panels() * weight->down.panel_bytes;
  weight->kernel = fmt::format("{}, grouped by expert", matrix_kernels(context, *dtype).name);
  return weight;
}

}  // namespace deltaserve
