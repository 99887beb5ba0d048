// Names and shapes of the vision tower's tensors, so that a loader can account for every tensor of
// a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"

namespace deltaserve {

struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
};

// All 12 * depth + 9 tensors under "model.visual.".
std::vector<NamedShape> vision_tensor_shapes(const VisionConfig& vision);

}  // namespace deltaserve
