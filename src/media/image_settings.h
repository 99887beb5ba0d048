// What a checkpoint's preprocessor_config.json says about pictures, checked against what this code
// does: a setting that would need another treatment is refused with its name.
#pragma once

#include <array>
#include <cstdint>

#include "base/error.h"
#include "json/json.h"
#include "media/smart_resize.h"

namespace deltaserve {

struct ImageSettings {
  int32_t patch_size = 16;
  int32_t temporal_patch_size = 2;  // the tower repeats a picture for every frame of a patch
  int32_t merge_size = 2;
  int64_t min_pixels = 0;  // of the resized picture
  int64_t max_pixels = 0;
  // A channel's value v of 0 to 255 enters the model as (v - offset) / scale.
  std::array<float, 3> offset{};
  std::array<float, 3> scale{};

  ResizeLimits resize_limits() const { return {patch_size * merge_size, min_pixels, max_pixels}; }
};

// Areas that stand in for a configuration's own.
struct PixelRange {
  int64_t least = 0;
  int64_t greatest = 0;
};

class SettingsReader;

// The keys that pictures and frames of videos share. Errors are left in the reader.
ImageSettings read_frame_settings(SettingsReader& reader, const PixelRange& fallback);

// `config`: the object of preprocessor_config.json, or "image_processor" of processor_config.json.
Result<ImageSettings> parse_image_settings(const json::Object& config);

}  // namespace deltaserve
