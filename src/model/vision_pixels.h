// From the 8-bit samples of a VisionItem to the rows that the tower's first matrix reads. Done for
// the rows of one part at a time, because as floats a picture is eight or more times its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "media/vision_item.h"
#include "tensor/dtype.h"

namespace deltaserve {

// Patches [begin, end) of `item` as [end - begin, kPixelChannels, num_frames, samples] of X (kF32
// or kBF16), where `samples` are those of a channel and frame of a patch. A sample v of channel c
// becomes (v - offset[c]) / scale[c] in float32, and of that the nearest X. An item of one frame
// has it repeated; otherwise it has `num_frames`. `out` holds exactly these elements.
void write_pixel_rows(const VisionItem& item, int64_t begin, int64_t end, int32_t num_frames,
                      DType x_dtype, std::span<std::byte> out);

}  // namespace deltaserve
