// GIF's variant of LZW.
#pragma once

#include <cstdint>
#include <span>

#include "media/rgb_image.h"

namespace deltaserve {

// `data`: the minimum code size, then sub-blocks of up to 255 bytes. Fills all of `out`; false if
// the data ends before or holds a code that means nothing. What follows the last pixel is ignored.
bool decode_gif_lzw(Bytes data, std::span<uint8_t> out);

}  // namespace deltaserve
