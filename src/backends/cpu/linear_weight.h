// The weight that linear and linear_bias share: one matrix in panels (panel_matrix.h), or two where
// only the first parts are quantised.
#pragma once

#include "backends/cpu/panel_matrix.h"
#include "ops/weights.h"

namespace deltaserve {

struct CpuLinearWeight final : LinearWeight {
  PanelMatrix matrix;
  int64_t matrix_columns = 0;  // of N; the others are in `tail`
  PanelMatrix tail;
};

}  // namespace deltaserve
