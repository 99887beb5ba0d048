// One picture or video as it waits for the vision tower: resized pixels of 8 bits, cut into patches
// in the order of the tower's rows, and a hash of what was seen, by which caches tell two pictures
// apart. Made by a worker thread, then shared and never changed; the tower normalises the rows of
// each of its parts when it comes to them (model/vision_pixels.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace deltaserve {

inline constexpr size_t kPixelChannels = 3;

struct VisionItem {
  int32_t grid_t = 1;  // temporal patches: 1 for a picture
  int32_t grid_h = 0;  // patches, before the merge: multiples of merge_size
  int32_t grid_w = 0;
  int32_t merge_size = 2;  // patches on a side that become one token

  // Frames that each patch holds: all of the tower's temporal patch, or one that stands for all of
  // them, which is what a picture has.
  int32_t frames = 1;

  // [grid_t * grid_h * grid_w, kPixelChannels * frames * patch_size * patch_size].
  // Rows by (t, block row, block column, row in block, column in block), where a block is the
  // merge_size x merge_size patches of one token; columns by (channel, frame, y, x).
  std::vector<uint8_t> patches;

  // Value v of channel c enters the tower as (v - offset[c]) / scale[c].
  std::array<float, kPixelChannels> offset{};
  std::array<float, kPixelChannels> scale{};

  std::array<uint64_t, 2> content_hash{};  // of the resized pixels and the grid

  bool is_video = false;
  std::vector<double> timestamps;  // [grid_t] seconds, the middle of each pair of frames; videos

  int64_t num_patches() const { return int64_t{grid_t} * grid_h * grid_w; }

  // Placeholders in the prompt, that is rows after the merger.
  int64_t num_tokens() const { return num_patches() / (int64_t{merge_size} * merge_size); }
};

}  // namespace deltaserve
