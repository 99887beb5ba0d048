// From a video as it was sent to a VisionItem, in the two steps of ImageProcessor: `inspect` says
// how many tokens it will be and when its frames were, from headers alone; `process` decodes.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "media/digest.h"
#include "media/image_decoder.h"
#include "media/video_decoder.h"
#include "media/video_settings.h"
#include "media/vision_item.h"

namespace deltaserve {

// One file of a video, or the frames themselves as pictures of one size.
struct VideoSource {
  std::vector<std::vector<uint8_t>> files;  // at least one
  bool is_frames = false;
  // Frames a second: those to take of a file, instead of the settings' number; those that `files`
  // were taken at, kFramesPerSecond if it is not known.
  std::optional<double> fps = std::nullopt;
};

// Of frames that come without a rate, as qwen-vl-utils has it.
inline constexpr double kFramesPerSecond = 2.0;

struct VideoPlan {
  ImageSize resized;
  std::vector<int64_t> indices;    // of the frames that are shown
  std::vector<double> timestamps;  // [temporal patches] seconds
  int64_t tokens_per_patch = 0;    // of each of them
  size_t num_bytes = 0;            // of VisionItem::patches
};

class VideoProcessor {
 public:
  VideoProcessor(const VideoSettings& settings, const VideoLimits& limits,
                 const ImageLimits& image_limits)
      : settings_(settings), limits_(limits), image_limits_(image_limits) {}

  // Errors: kInvalidArgument as read_video_info or read_image_header, too many frames, frames of
  // different sizes, or sides too unequal.
  Result<VideoPlan> inspect(const VideoSource& source) const;

  // `plan` is inspect's. Errors: frames that are cut or damaged.
  Result<std::shared_ptr<const VisionItem>> process(const VideoSource& source,
                                                    const VideoPlan& plan) const;

  const VideoLimits& limits() const { return limits_; }

 private:
  Result<VideoPlan> make_plan(std::vector<int64_t> indices, double fps, ImageSize size) const;
  Result<VideoPlan> inspect_frames(const VideoSource& source) const;

  VideoSettings settings_;
  VideoLimits limits_;
  ImageLimits image_limits_;
};

// What is the same for the same video and for no other.
Digest digest_of(const VideoSource& source);

}  // namespace deltaserve
