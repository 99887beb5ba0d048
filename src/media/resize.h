// Bicubic resampling with antialiasing, bit for bit as Pillow does it on 8-bit pictures.
#pragma once

#include "media/rgb_image.h"
#include "media/smart_resize.h"

namespace deltaserve {

// `size` has sides of at least 1. The same size gives the picture back as it is.
RgbImage resize_bicubic(RgbImage image, ImageSize size);

}  // namespace deltaserve
