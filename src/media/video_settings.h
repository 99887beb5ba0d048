// What a checkpoint's video_preprocessor_config.json says about videos, checked as image_settings
// checks pictures: how frames are chosen, and how many pixels all of them may have together.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "json/json.h"
#include "media/image_settings.h"

namespace deltaserve {

struct VideoSettings {
  // Of each frame; min_pixels and max_pixels are of all chosen frames together.
  ImageSettings frame;
  double fps = 2.0;  // frames taken of a second
  int32_t min_frames = 4;
  int32_t max_frames = 768;
  // Most tokens of a frame however few there are; 0: none but max_pixels.
  int32_t max_frame_tokens = 0;
};

// `config`: the object of video_preprocessor_config.json, or "video_processor" of
// processor_config.json.
Result<VideoSettings> parse_video_settings(const json::Object& config);

}  // namespace deltaserve
