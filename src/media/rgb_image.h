// Decoded pictures and the facts that a file's header gives before anything is decoded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace deltaserve {

using Bytes = std::span<const uint8_t>;

struct RgbImage {
  int32_t width = 0;
  int32_t height = 0;
  std::vector<uint8_t> pixels;  // [height, width, 3]
};

struct ImageHeader {
  int32_t width = 0;  // as stored: orientation is not applied
  int32_t height = 0;
  // EXIF's value, 1 to 8: how the stored rows and columns lie in the picture. 1: as they are.
  int32_t orientation = 1;

  int64_t pixels() const { return int64_t{width} * height; }
  bool swaps_sides() const { return orientation >= 5; }  // when it is turned upright
};

}  // namespace deltaserve
