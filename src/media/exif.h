// The one entry of EXIF data that changes what a picture looks like.
#pragma once

#include <cstdint>

#include "media/rgb_image.h"

namespace deltaserve {

// The orientation in a TIFF block, which may stand behind "Exif\0\0": in JPEG it always does, in
// other formats some writers leave it there. 1 for a block without one or one that cannot be read:
// cameras write many broken ones, and viewers ignore those.
int32_t exif_orientation(Bytes exif);

// Turns and mirrors the stored pixels to what the orientation says; 1 does nothing.
void apply_orientation(RgbImage& image, int32_t orientation);

}  // namespace deltaserve
