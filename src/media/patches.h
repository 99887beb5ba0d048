// Pixels to the vision tower's rows.
#pragma once

#include <vector>

#include "media/image_settings.h"
#include "media/rgb_image.h"

namespace deltaserve {

// `image` has sides that are multiples of patch_size * merge_size. Result: VisionItem::patches with
// grid_t = 1, the picture repeated for every frame of a patch.
std::vector<float> make_patches(const RgbImage& image, const ImageSettings& settings);

}  // namespace deltaserve
