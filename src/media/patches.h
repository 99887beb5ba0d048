// Pixels to the vision tower's rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "media/image_settings.h"
#include "media/rgb_image.h"

namespace deltaserve {

// One temporal patch: `frames`, at least one, all of one size whose sides are multiples of
// patch_size * merge_size. Writes height * width * 3 * frames.size() samples to `out`, in the order
// of VisionItem::patches.
void write_patches(std::span<const RgbImage* const> frames, const ImageSettings& settings,
                   uint8_t* out);

// `image` has sides that are multiples of patch_size * merge_size. Result: VisionItem::patches of a
// picture, with grid_t = 1 and frames = 1.
std::vector<uint8_t> make_patches(const RgbImage& image, const ImageSettings& settings);

}  // namespace deltaserve
