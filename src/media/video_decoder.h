// From the bytes of a video file to chosen frames. What libav decodes is a build's choice: without
// it every call is an error that says so. MP4, QuickTime, Matroska and WebM are known by their
// first bytes; H.264, HEVC, VP8, VP9 and AV1 are decoded, on the caller's thread. Nothing but the
// bytes is read, whatever addresses of other files they hold.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/error.h"
#include "media/rgb_image.h"

namespace deltaserve {

struct VideoLimits {
  // More than a request of the default size can carry; fetched files may be that large.
  size_t max_bytes = size_t{64} << 20;
  // Of a frame: 4096 x 2304. A decoder holds up to 17 of them, of 1.5 to 6 bytes a pixel.
  int64_t max_pixels = int64_t{4096} * 2304;
  // 20 minutes of 30 frames a second; all up to the last one wanted are decoded.
  int64_t max_frames = 36'000;
  double max_seconds = 3600.0;
  // Of reading and of decoding, each. A worker thread is busy all that time.
  std::chrono::milliseconds timeout{30'000};
};

struct VideoInfo {
  int32_t width = 0;  // of the upright picture
  int32_t height = 0;
  int64_t num_frames = 0;  // that are shown
  double fps = 0.0;        // on average
};

// Whether this build has a decoder.
bool can_decode_video();

// Reads the whole container and decodes nothing. Errors: kInvalidArgument, a sentence that begins
// with "The video", for a file that is none of the above, cut, or beyond the limits.
Result<VideoInfo> read_video_info(Bytes file, const VideoLimits& limits);

// Gives the upright frames `indices`, ascending and each in [0, num_frames), to `take` in that
// order, all of the size that read_video_info says. Errors: those of read_video_info, and frames
// that are damaged or of another size.
Result<void> decode_video(Bytes file, const VideoLimits& limits, std::span<const int64_t> indices,
                          const std::function<void(const RgbImage&)>& take);

}  // namespace deltaserve
