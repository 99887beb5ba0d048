// All routed experts of a layer in panels, one expert after the other.
#pragma once

#include <cstdint>

#include "backends/cpu/panel_matrix.h"
#include "ops/weights.h"

namespace deltaserve {

struct CpuExpertsWeight final : ExpertsWeight {
  PanelMatrix gate_up;  // E times ceil(I / 16) panels of 16 gate and 16 up columns
  PanelMatrix down;     // E times ceil(H / 32) panels
  int64_t gate_up_panels() const { return gate_up.panels / E; }
  int64_t down_panels() const { return down.panels / E; }
};

}  // namespace deltaserve
