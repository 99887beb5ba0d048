// Index arithmetic of frames; coordinates are float32, as the models were trained with.
#include "model/vision_grid.h"

#include <algorithm>

namespace deltaserve {
namespace {

struct Axis {
  int32_t low = 0;
  int32_t high = 0;
  float part = 0.0F;  // weight of `high`
};

Axis place(int32_t index, int32_t size, int32_t side) {
  const float at = size == 1 ? 0.0F
                             : static_cast<float>(index) * static_cast<float>(side - 1) /
                                   static_cast<float>(size - 1);
  const auto low = static_cast<int32_t>(at);
  return {.low = low, .high = std::min(low + 1, side - 1), .part = at - static_cast<float>(low)};
}

}  // namespace

VisionGrid make_vision_grid(int32_t grid_h, int32_t grid_w, int32_t merge_size) {
  VisionGrid grid;
  const auto count = static_cast<size_t>(grid_h) * static_cast<size_t>(grid_w);
  grid.rows.reserve(count);
  grid.columns.reserve(count);
  for (int32_t top = 0; top < grid_h; top += merge_size) {
    for (int32_t left = 0; left < grid_w; left += merge_size) {
      for (int32_t i = 0; i < merge_size * merge_size; ++i) {
        grid.rows.push_back(top + i / merge_size);
        grid.columns.push_back(left + i % merge_size);
      }
    }
  }
  return grid;
}

VisionTaps make_vision_taps(const VisionGrid& grid, int64_t begin, int64_t end, int32_t grid_h,
                            int32_t grid_w, int32_t side) {
  const auto count = static_cast<size_t>(end - begin);
  VisionTaps taps{.taps = std::vector<int32_t>(4 * count),
                  .weights = std::vector<float>(4 * count)};
  for (size_t t = 0; t < count; ++t) {
    const size_t patch = static_cast<size_t>(begin) + t;
    const Axis y = place(grid.rows[patch], grid_h, side);
    const Axis x = place(grid.columns[patch], grid_w, side);
    const int32_t entries[] = {y.low * side + x.low, y.low * side + x.high, y.high * side + x.low,
                               y.high * side + x.high};
    const float weights[] = {(1.0F - y.part) * (1.0F - x.part), (1.0F - y.part) * x.part,
                             y.part * (1.0F - x.part), y.part * x.part};
    for (size_t k = 0; k < 4; ++k) {
      taps.taps[k * count + t] = entries[k];
      taps.weights[k * count + t] = weights[k];
    }
  }
  return taps;
}

}  // namespace deltaserve
