// One pass over the output in its own order.
#include "media/patches.h"

#include <cstddef>

#include "base/check.h"
#include "media/vision_item.h"

namespace deltaserve {
namespace {

// Where each frame's patch begins, and the distance of its rows.
struct Corners {
  std::span<const RgbImage* const> frames;
  size_t offset = 0;     // of the patch's top left sample in every frame
  size_t row_bytes = 0;  // of a frame
};

// One patch: [channels, frames, size, size] to `out`; returns what follows it.
uint8_t* write_patch(const Corners& corners, size_t size, uint8_t* out) {
  for (size_t c = 0; c < kPixelChannels; ++c) {
    for (const RgbImage* frame : corners.frames) {
      const uint8_t* row = &frame->pixels[corners.offset + c];
      for (size_t y = 0; y < size; ++y, row += corners.row_bytes) {
        for (size_t x = 0; x < size; ++x) *out++ = row[x * kPixelChannels];
      }
    }
  }
  return out;
}

}  // namespace

void write_patches(std::span<const RgbImage* const> frames, const ImageSettings& settings,
                   uint8_t* out) {
  DS_CHECK(!frames.empty());
  const auto size = static_cast<size_t>(settings.patch_size);
  const auto merge = static_cast<size_t>(settings.merge_size);
  const auto width = static_cast<size_t>(frames.front()->width);
  const auto height = static_cast<size_t>(frames.front()->height);
  const size_t block = size * merge;  // pixels on a side that become one token
  DS_CHECK(width % block == 0 && height % block == 0);
  for (const RgbImage* frame : frames) {
    DS_CHECK(frame->pixels.size() == width * height * kPixelChannels);
  }

  Corners corners{.frames = frames, .offset = 0, .row_bytes = width * kPixelChannels};
  for (size_t top = 0; top < height; top += block) {
    for (size_t left = 0; left < width; left += block) {
      for (size_t y = top; y < top + block; y += size) {
        for (size_t x = left; x < left + block; x += size) {
          corners.offset = y * corners.row_bytes + x * kPixelChannels;
          out = write_patch(corners, size, out);
        }
      }
    }
  }
}

std::vector<uint8_t> make_patches(const RgbImage& image, const ImageSettings& settings) {
  std::vector<uint8_t> patches(image.pixels.size());
  const RgbImage* frame = &image;
  write_patches({&frame, 1}, settings, patches.data());
  return patches;
}

}  // namespace deltaserve
