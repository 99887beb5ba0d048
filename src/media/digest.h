// Names for contents that nobody can make collide: SHA-256, cut to 128 bits.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "media/rgb_image.h"

namespace deltaserve {

using Digest = std::array<uint64_t, 2>;

// Of the parts, one after the other.
Digest digest(std::initializer_list<Bytes> parts);

}  // namespace deltaserve
