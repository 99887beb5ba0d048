// Files for tests of decoders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "media/rgb_image.h"

namespace deltaserve {

struct SamplePicture {
  std::string name;
  std::vector<uint8_t> file;
};

// One of every kind, 3 x 2 pixels.
std::vector<SamplePicture> sample_pictures();

// Small files that claim to be enormous.
std::vector<SamplePicture> picture_bombs();

// Length, type of four letters, body and checksum.
std::vector<uint8_t> png_chunk(std::string_view type, Bytes body);

// Signature and IHDR of an RGB picture, nothing more.
std::vector<uint8_t> png_header_only(uint32_t width, uint32_t height);

}  // namespace deltaserve
