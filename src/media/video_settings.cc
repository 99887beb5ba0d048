// Keys are those of transformers' Qwen3VLVideoProcessor; where released checkpoints differ from its
// defaults (areas, mean and deviation), theirs stand in for a missing key.
#include "media/video_settings.h"

#include <fmt/format.h>

#include <cmath>

#include "media/settings_reader.h"

namespace deltaserve {
namespace {

constexpr std::string_view kFile = "video_preprocessor_config.json";
constexpr PixelRange kReleasedPixels = {.least = 4096, .greatest = 25'165'824};
constexpr int64_t kMostFrames = 1 << 16;

}  // namespace

Result<VideoSettings> parse_video_settings(const json::Object& config) {
  SettingsReader reader(config);
  VideoSettings settings;
  settings.frame = read_frame_settings(reader, kReleasedPixels);
  reader.require_true("do_sample_frames");
  reader.refuse("num_frames");
  settings.fps = reader.number("fps", 2.0);
  if (!std::isfinite(settings.fps) || settings.fps <= 0.0) reader.fail("'fps' must be above 0");
  settings.min_frames = static_cast<int32_t>(reader.integer("min_frames", 4, 1, kMostFrames));
  settings.max_frames = static_cast<int32_t>(reader.integer("max_frames", 768, 2, kMostFrames));
  const auto most = static_cast<int32_t>(reader.integer("max_video_tokens", 768, 1, 1 << 20));
  if (reader.boolean("cap_pixels_per_frame", false)) settings.max_frame_tokens = most;
  if (settings.min_frames > settings.max_frames) {
    reader.fail("'min_frames' is above 'max_frames'");
  }
  if (!reader.error().empty()) return invalid(fmt::format("{}: {}.", kFile, reader.error()));
  return settings;
}

}  // namespace deltaserve
