// How a phone that was held sideways says so in a video.
#pragma once

#include <cstdint>

struct AVStream;

namespace deltaserve {

// The orientation as EXIF counts it, 1 to 8; 1 without a matrix, and for one that is no mirroring
// or turn by quarters.
int32_t stream_orientation(const AVStream& stream);

}  // namespace deltaserve
