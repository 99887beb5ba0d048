// Which frames of a video are shown to the model, when they were, and how large: transformers'
// Qwen3VLVideoProcessor and the timestamps of its processor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "media/smart_resize.h"
#include "media/video_settings.h"

namespace deltaserve {

// Ascending indices of the frames taken of `num_frames` that come `fps` a second, spread evenly
// from the first to the last. num_frames and fps are above 0.
std::vector<int64_t> sample_frames(int64_t num_frames, double fps, const VideoSettings& settings);

// [indices / temporal_patch_size, rounded up] seconds: the middle between the first and the last
// frame of each temporal patch, of which the last is filled up with the last frame.
std::vector<double> patch_times(std::span<const int64_t> indices, double fps,
                                int32_t temporal_patch_size);

// What `num_frames` frames of `size` are resized to: sides that are multiples of a token's, and an
// area of all together within the limits. Errors: kInvalidArgument for fewer frames than a temporal
// patch has, or one side more than 200 times the other.
Result<ImageSize> video_resize(int64_t num_frames, ImageSize size, const VideoSettings& settings);

}  // namespace deltaserve
