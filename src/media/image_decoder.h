// From the bytes of a picture file to pixels, whatever the format says it is: the format is known
// by its first bytes, never by a name or declared type, and limits are checked on the header alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "media/rgb_image.h"

namespace deltaserve {

struct ImageLimits {
  // A decoded picture takes 3 bytes a pixel (a progressive JPEG twice that) while a worker thread
  // has it: 8192 x 8192 is more than cameras of phones give and 192 MiB.
  int64_t max_pixels = int64_t{8192} * 8192;
  // A file that is larger is nearly always a video or an archive.
  size_t max_bytes = size_t{32} << 20;
};

// Errors: kInvalidArgument for a file that is empty, too large, of no supported format or damaged
// in its header, and for too many pixels.
Result<ImageHeader> read_image_header(Bytes file, const ImageLimits& limits);

// The upright picture (EXIF orientation applied), [height, width, 3]. Errors: those of the header,
// and a picture that is cut or damaged.
Result<RgbImage> decode_image(Bytes file, const ImageLimits& limits);

}  // namespace deltaserve
