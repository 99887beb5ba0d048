// Any bytes as a video file: an error, or as many frames of the size that its header says, within
// the limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "media/video_processor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deltaserve;
  VideoLimits limits;
  limits.max_bytes = size_t{1} << 20;
  limits.max_pixels = int64_t{1} << 16;
  limits.max_frames = 64;
  VideoSettings settings;
  settings.frame = {.min_pixels = 1024, .max_pixels = 1 << 16};
  settings.frame.scale = {1.0F, 1.0F, 1.0F};
  settings.max_frames = 6;
  const VideoProcessor processor(settings, limits, {});
  const VideoSource source{.files = {std::vector<uint8_t>(data, data + size)}};
  const auto plan = processor.inspect(source);
  if (!plan) {
    if (!plan.error().message.starts_with("The video")) std::abort();
    return 0;
  }
  const auto item = processor.process(source, *plan);
  if (!item) {
    if (!item.error().message.starts_with("The video")) std::abort();
    return 0;
  }
  const int64_t tokens = plan->tokens_per_patch * std::ssize(plan->timestamps);
  if ((*item)->patches.size() != plan->num_bytes || (*item)->num_tokens() != tokens) std::abort();
  return 0;
}
