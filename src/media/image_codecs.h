// One reader and one decoder a format. A reader looks at headers only and allocates nothing of the
// picture's size; callers check what it says before they decode. Results are 8-bit RGB as Pillow's
// convert("RGB") gives it: alpha is dropped, not blended. Errors: kInvalidArgument, a sentence that
// begins with "The image".
#pragma once

#include "base/error.h"
#include "media/rgb_image.h"

namespace deltaserve {

Result<ImageHeader> read_jpeg_header(Bytes file);
Result<RgbImage> decode_jpeg(Bytes file);

Result<ImageHeader> read_png_header(Bytes file);
Result<RgbImage> decode_png(Bytes file);

// Of animations both give the first frame, on a canvas of the whole animation's size.
Result<ImageHeader> read_webp_header(Bytes file);
Result<RgbImage> decode_webp(Bytes file);

Result<ImageHeader> read_gif_header(Bytes file);
Result<RgbImage> decode_gif(Bytes file);

}  // namespace deltaserve
