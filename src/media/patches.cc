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

// Where each frame's patch begins, and the distance of its rows.
struct Corners {
  std::span<const RgbImage* const> frames;
  size_t offset = 0;     // of the patch's top left sample in every frame
  size_t row_bytes = 0;  // of a frame
};

// One patch: [channels, frames, size, size] to `out`. A frame that is repeated is copied.
float* write_patch(const Corners& corners, size_t size, const ValueTable& table, float* out) {
  for (size_t c = 0; c < kChannels; ++c) {
    for (size_t f = 0; f < corners.frames.size(); ++f) {
      if (f > 0 && corners.frames[f] == corners.frames[f - 1]) {
        out = std::copy_n(out - size * size, size * size, out);
        continue;
      }
      const uint8_t* row = &corners.frames[f]->pixels[corners.offset + c];
      for (size_t y = 0; y < size; ++y, row += corners.row_bytes) {
        for (size_t x = 0; x < size; ++x) *out++ = table[c][row[x * kChannels]];
      }
    }
  }
  return out;
}

}  // namespace

void write_patches(std::span<const RgbImage* const> frames, const ImageSettings& settings,
                   float* out) {
  const auto size = static_cast<size_t>(settings.patch_size);
  const auto merge = static_cast<size_t>(settings.merge_size);
  const auto width = static_cast<size_t>(frames.front()->width);
  const auto height = static_cast<size_t>(frames.front()->height);
  const size_t block = size * merge;  // pixels on a side that become one token
  DS_CHECK(std::ssize(frames) == settings.temporal_patch_size);
  DS_CHECK(width % block == 0 && height % block == 0);
  for (const RgbImage* frame : frames) {
    DS_CHECK(frame->pixels.size() == width * height * kChannels);
  }

  const ValueTable table = make_table(settings);
  Corners corners{.frames = frames, .offset = 0, .row_bytes = width * kChannels};
  for (size_t top = 0; top < height; top += block) {
    for (size_t left = 0; left < width; left += block) {
      for (size_t y = top; y < top + block; y += size) {
        for (size_t x = left; x < left + block; x += size) {
          corners.offset = y * corners.row_bytes + x * kChannels;
          out = write_patch(corners, size, table, out);
        }
      }
    }
  }
}

std::vector<float> make_patches(const RgbImage& image, const ImageSettings& settings) {
  const auto frames = static_cast<size_t>(settings.temporal_patch_size);
  std::vector<float> patches(image.pixels.size() * frames);
  write_patches(std::vector<const RgbImage*>(frames, &image), settings, patches.data());
  return patches;
}

}  // namespace deltaserve
