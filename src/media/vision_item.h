// One picture or video as the vision tower takes it: patches of normalised pixels in the order of
// the tower's rows, and a hash of what was seen, by which caches tell two pictures apart. Made by a
// worker thread, then shared and never changed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace deltaserve {

struct VisionItem {
  int32_t grid_t = 1;  // temporal patches: 1 for a picture
  int32_t grid_h = 0;  // patches, before the merge: multiples of merge_size
  int32_t grid_w = 0;
  int32_t merge_size = 2;  // patches on a side that become one token

  // [grid_t * grid_h * grid_w, channels * temporal_patch_size * patch_size * patch_size].
  // Rows by (t, block row, block column, row in block, column in block), where a block is the
  // merge_size x merge_size patches of one token; columns by (channel, frame, y, x).
  std::vector<float> patches;

  std::array<uint64_t, 2> content_hash{};  // of the resized pixels and the grid

  bool is_video = false;
  std::vector<double> timestamps;  // [grid_t] seconds, the middle of each pair of frames; videos

  int64_t num_patches() const { return int64_t{grid_t} * grid_h * grid_w; }

  // Placeholders in the prompt, that is rows after the merger.
  int64_t num_tokens() const { return num_patches() / (int64_t{merge_size} * merge_size); }
};

}  // namespace deltaserve
