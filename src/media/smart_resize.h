// The size a picture is resized to before it is cut into patches: sides that are multiples of
// `factor`, an area within limits, and the aspect kept as nearly as that allows. Equal to
// `smart_resize` of transformers' Qwen2VLImageProcessor, whose rounding is Python's.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace deltaserve {

struct ImageSize {
  int32_t height = 0;
  int32_t width = 0;
  bool operator==(const ImageSize&) const = default;
};

struct ResizeLimits {
  int32_t factor = 32;     // patch size times merge size
  int64_t min_pixels = 0;  // `size.shortest_edge` of preprocessor_config.json, an area by now
  int64_t max_pixels = 0;  // `size.longest_edge`
};

// Errors: kInvalidArgument for sides below 1 or one side more than 200 times the other.
Result<ImageSize> smart_resize(ImageSize size, const ResizeLimits& limits);

}  // namespace deltaserve
