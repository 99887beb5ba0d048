// Where the patches of a frame lie, in the order of the tower's rows: block by block of merge_size
// x merge_size patches, row by row within each.
#pragma once

#include <cstdint>
#include <vector>

namespace deltaserve {

struct VisionGrid {
  std::vector<int32_t> rows;     // [n] of each patch in the frame's grid
  std::vector<int32_t> columns;  // [n]
};

VisionGrid make_vision_grid(int32_t grid_h, int32_t grid_w, int32_t merge_size);

// The learned positions form a square of `side` x `side` entries that is stretched over the frame,
// corners on corners: the four entries around each patch and their bilinear weights, [4, n] each.
struct VisionTaps {
  std::vector<int32_t> taps;
  std::vector<float> weights;
};

// For patches [begin, end) of a grid of grid_h x grid_w.
VisionTaps make_vision_taps(const VisionGrid& grid, int64_t begin, int64_t end, int32_t grid_h,
                            int32_t grid_w, int32_t side);

}  // namespace deltaserve
