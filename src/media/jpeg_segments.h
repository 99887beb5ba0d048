// The marker segments of a JPEG file, walked without decoding.
#pragma once

#include <cstdint>

#include "media/rgb_image.h"

namespace deltaserve {

struct JpegSegments {
  Bytes exif_tiff;           // the TIFF block of the EXIF segment, empty without one
  int32_t num_scans = 0;     // each costs one pass over the whole picture
  bool is_complete = false;  // the end marker was there
};

// Stops quietly where the file ends or makes no sense: the decoder is to complain.
JpegSegments walk_jpeg_segments(Bytes file);

}  // namespace deltaserve
