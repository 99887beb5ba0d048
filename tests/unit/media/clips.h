// The clips of tests/data/media, as tools/goldens/media_clips.py makes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/rgb_image.h"

namespace deltaserve {

inline constexpr int32_t kClipWidth = 96;
inline constexpr int32_t kClipHeight = 64;
inline constexpr int64_t kClipFrames = 20;
inline constexpr double kClipRate = 10.0;

std::vector<uint8_t> read_clip(const std::string& name);

// Average of channel `c` over the inner part of a quarter (0 to 3, by rows) of the picture.
double quarter_level(const RgbImage& image, int quarter, int c);

}  // namespace deltaserve
