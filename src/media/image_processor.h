// From the bytes of a picture file to a VisionItem, in two steps: `inspect` looks at the header and
// says how many tokens the picture will be, so that a prompt's length is known, and refused, before
// anything is decoded; `process` decodes. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "media/image_decoder.h"
#include "media/image_settings.h"
#include "media/vision_item.h"

namespace deltaserve {

struct ImagePlan {
  ImageSize resized;       // what the upright picture is resized to
  int64_t num_tokens = 0;  // placeholders in the prompt
  size_t num_bytes = 0;    // of VisionItem::patches
};

class ImageProcessor {
 public:
  ImageProcessor(const ImageSettings& settings, const ImageLimits& limits)
      : settings_(settings), limits_(limits) {}

  // Errors: kInvalidArgument as read_image_header, or sides too unequal.
  Result<ImagePlan> inspect(Bytes file) const;

  // Errors: those of inspect, and a picture that is cut or damaged.
  Result<std::shared_ptr<const VisionItem>> process(Bytes file) const;

  const ImageLimits& limits() const { return limits_; }

 private:
  ImageSettings settings_;
  ImageLimits limits_;
};

}  // namespace deltaserve
