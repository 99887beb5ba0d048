// Stands for the decoder in builds without libav: every video is refused, with the reason.
#include "media/video_decoder.h"

namespace deltaserve {
namespace {

std::unexpected<Error> not_built() {
  return invalid(
      "The video cannot be decoded: this server was built without video (libav). Send its frames "
      "as "
      "images.");
}

}  // namespace

bool can_decode_video() {
  return false;
}

Result<VideoInfo> read_video_info(Bytes, const VideoLimits&) {
  return not_built();
}

Result<void> decode_video(Bytes, const VideoLimits&, std::span<const int64_t>,
                          const std::function<void(const RgbImage&)>&) {
  return not_built();
}

}  // namespace deltaserve
