// All routed experts of a layer in panels. Without memory nodes one expert lies after the other;
// with them every expert is cut among the nodes alike, since any few of them may be chosen: node
// after node, and there its share of each expert.
#pragma once

#include <cstdint>

#include "backends/cpu/panel_matrix.h"
#include "ops/weights.h"

namespace deltaserve {

// Where the panels of experts lie in a matrix of all of them.
struct ExpertPanels {
  int64_t experts = 0;
  int64_t panels = 0;  // of an expert

  // What must be added to a panel of `expert` in [0, panels) for its place, if `share`, its node's
  // part of [0, panels), has it.
  int64_t offset(IndexRange share, int64_t expert) const {
    return experts * share.begin + expert * (share.end - share.begin) - share.begin;
  }
  // The inverse: the expert and its panel at a place.
  struct Place {
    int64_t expert = 0;
    int64_t panel = 0;
  };
  Place at(const ThreadPlacement& placement, int64_t place) const;
};

struct CpuExpertsWeight final : ExpertsWeight {
  PanelMatrix gate_up;  // E times ceil(I / 16) panels of 16 gate and 16 up columns
  PanelMatrix down;     // E times ceil(H / 32) panels
  ExpertPanels gate_up_panels() const { return {E, gate_up.panels / E}; }
  ExpertPanels down_panels() const { return {E, down.panels / E}; }
};

}  // namespace deltaserve
