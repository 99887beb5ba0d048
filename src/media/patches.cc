// One pass over the output in its own order; a table of 256 values a channel normalises.
#include "media/patches.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/check.h"

namespace deltaserve {
namespace {

constexpr size_t kChannels = 3;

using ValueTable = std::array<std::array<float, 256>, kChannels>;

ValueTable make_table(const ImageSettings& settings) {
  ValueTable table;
  for (size_t c = 0; c < kChannels; ++c) {
    for (size_t v = 0; v < 256; ++v) {
      table[c][v] = (static_cast<float>(v) - settings.offset[c]) / settings.scale[c];
    }
  }
  return table;
}

// One patch from its top left pixel: [channels, frames, size, size] to `out`.
float* write_patch(const uint8_t* corner, size_t row_bytes, size_t size, size_t frames,
                   const ValueTable& table, float* out) {
  for (size_t c = 0; c < kChannels; ++c) {
    const float* frame = out;
    for (size_t y = 0; y < size; ++y) {
      const uint8_t* pixel = corner + y * row_bytes + c;
      for (size_t x = 0; x < size; ++x) *out++ = table[c][pixel[x * kChannels]];
    }
    for (size_t f = 1; f < frames; ++f) out = std::copy_n(frame, size * size, out);
  }
  return out;
}

}  // namespace

std::vector<float> make_patches(const RgbImage& image, const ImageSettings& settings) {
  const auto size = static_cast<size_t>(settings.patch_size);
  const auto merge = static_cast<size_t>(settings.merge_size);
  const auto frames = static_cast<size_t>(settings.temporal_patch_size);
  const auto width = static_cast<size_t>(image.width);
  const auto height = static_cast<size_t>(image.height);
  const size_t block = size * merge;  // pixels on a side that become one token
  DS_CHECK(width % block == 0 && height % block == 0);

  const ValueTable table = make_table(settings);
  const size_t row_bytes = width * kChannels;
  std::vector<float> patches(width * height * kChannels * frames);
  float* out = patches.data();
  for (size_t top = 0; top < height; top += block) {
    for (size_t left = 0; left < width; left += block) {
      for (size_t y = top; y < top + block; y += size) {
        for (size_t x = left; x < left + block; x += size) {
          const uint8_t* corner = &image.pixels[y * row_bytes + x * kChannels];
          out = write_patch(corner, row_bytes, size, frames, table, out);
        }
      }
    }
  }
  return patches;
}

}  // namespace deltaserve
