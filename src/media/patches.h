// Pixels to the vision tower's rows.
#pragma once

#include <span>
#include <vector>

#include "media/image_settings.h"
#include "media/rgb_image.h"

namespace deltaserve {

// One temporal patch of a video: `frames` [temporal_patch_size], all of one size whose sides are
// multiples of patch_size * merge_size. Writes height * width * 3 * temporal_patch_size values to
// `out`, in the order of VisionItem::patches.
void write_patches(std::span<const RgbImage* const> frames, const ImageSettings& settings,
                   float* out);

// `image` has sides that are multiples of patch_size * merge_size. Result: VisionItem::patches with
// grid_t = 1, the picture repeated for every frame of a patch.
std::vector<float> make_patches(const RgbImage& image, const ImageSettings& settings);

}  // namespace deltaserve
