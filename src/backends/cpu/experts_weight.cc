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

ExpertPanels::Place ExpertPanels::at(const ThreadPlacement& placement, int64_t place) const {
  for (int32_t part = 0;; ++part) {
    const IndexRange share = placement.share(panels, part);
    if (place < experts * share.end) {
      const int64_t own = share.end - share.begin;
      const int64_t index = place - experts * share.begin;
      return {.expert = index / own, .panel = share.begin + index % own};
    }
  }
}

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
  const ExpertPanels gate_up_panels{weight->E, ceil_div(weight->I, kHalfPanel)};
  const ExpertPanels down_panels{weight->E, ceil_div(weight->H, kPanelColumns)};
  const auto gate_up_row = [&](int64_t column) -> SourceRow {
    const auto [expert, panel] = gate_up_panels.at(context.placement, column / kPanelColumns);
    const auto e = static_cast<size_t>(expert);
    const int64_t row = panel * kHalfPanel + column % kHalfPanel;
    if (row >= weight->I) {
      return {};
    }
    return {.view = column % kPanelColumns < kHalfPanel ? &gate[e] : &up[e], .row = row};
  };
  const auto down_row = [&](int64_t column) -> SourceRow {
    const auto [expert, panel] = down_panels.at(context.placement, column / kPanelColumns);
    const int64_t row = panel * kPanelColumns + column % kPanelColumns;
    return row < weight->H ? SourceRow{.view = &down[static_cast<size_t>(expert)], .row = row}
                           : SourceRow{};
  };
  Result<PanelMatrix> gate_up = make_panels(context, weight->E * gate_up_panels.panels, weight->H,
                                            *dtype, gate_up_row, weight->E);
  if (!gate_up) {
    return std::unexpected(gate_up.error());
  }
  Result<PanelMatrix> down_matrix =
      make_panels(context, weight->E * down_panels.panels, weight->I, *dtype, down_row, weight->E);
  if (!down_matrix) {
    return std::unexpected(down_matrix.error());
  }
  weight->gate_up = std::move(*gate_up);
  weight->down = std::move(*down_matrix);
  weight->bytes_per_expert = gate_up_panels.panels * weight->gate_up.panel_bytes +
                             down_panels.panels * weight->down.panel_bytes;
  weight->kernel = fmt::format("{}, grouped by expert", matrix_kernels(context, *dtype).name);
  return weight;
}

}  // namespace deltaserve
