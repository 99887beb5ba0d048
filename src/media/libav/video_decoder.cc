// Two walks over the file: the first finds how many frames there are and when each is shown, the
// second decodes. Frames are told apart by their times, so that one that cannot be decoded does not
// shift the others.
#include "media/video_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "media/exif.h"
#include "media/libav/frame_decoder.h"
#include "media/libav/video_container.h"

namespace deltaserve {
namespace {

// Gives wanted frames on in the order of their times.
class FramePicker {
 public:
  FramePicker(const VideoTrack& track, std::span<const int64_t> indices, FrameDecoder& decoder,
              const std::function<void(const RgbImage&)>& take)
      : track_(track), indices_(indices), decoder_(decoder), take_(take) {}

  bool is_done() const { return next_ == indices_.size(); }

  bool wants(int64_t time) const {
    const auto found = std::ranges::lower_bound(track_.times, time);
    const auto index = found - track_.times.begin();
    return found != track_.times.end() && *found == time &&
           std::ranges::binary_search(indices_.subspan(next_), index);
  }

  // All frames that are ready. Errors: one that is wanted is damaged or missing.
  Result<void> drain() {
    while (!is_done()) {
      const AVFrame* frame = decoder_.receive();
      if (frame == nullptr) return {};
      const int64_t due = time_due();
      if (frame->pts < due) continue;
      if (frame->pts > due) return missing();
      if (Result<void> given = give(*frame); !given) return given;
    }
    return {};
  }

  std::unexpected<Error> missing() const {
    return invalid(fmt::format("The video is cut or damaged: frame {} of {} cannot be decoded.",
                               indices_[next_] + 1, track_.info.num_frames));
  }

 private:
  int64_t time_due() const { return track_.times[static_cast<size_t>(indices_[next_])]; }

  Result<void> give(const AVFrame& frame) {
    VideoInfo stored = track_.info;
    if (track_.orientation >= 5) std::swap(stored.width, stored.height);
    if (frame.width != stored.width || frame.height != stored.height) {
      return invalid(fmt::format("The video has frames of {}x{} pixels, its header says {}x{}.",
                                 frame.width, frame.height, stored.width, stored.height));
    }
    Result<RgbImage> image = decoder_.convert(frame);
    if (!image) return std::unexpected(std::move(image.error()));
    apply_orientation(*image, track_.orientation);
    const int64_t time = frame.pts;
    while (!is_done() && time_due() == time) {
      take_(*image);
      ++next_;
    }
    return {};
  }

  const VideoTrack& track_;
  std::span<const int64_t> indices_;
  FrameDecoder& decoder_;
  const std::function<void(const RgbImage&)>& take_;
  size_t next_ = 0;
};

Result<VideoTrack> scan(Bytes file, const VideoLimits& limits) {
  Result<std::unique_ptr<VideoContainer>> container = VideoContainer::open(file, limits);
  if (!container) return std::unexpected(std::move(container.error()));
  return (*container)->scan();
}

}  // namespace

bool can_decode_video() {
  return true;
}

Result<VideoInfo> read_video_info(Bytes file, const VideoLimits& limits) {
  const Result<VideoTrack> track = scan(file, limits);
  if (!track) return std::unexpected(track.error());
  return track->info;
}

Result<void> decode_video(Bytes file, const VideoLimits& limits, std::span<const int64_t> indices,
                          const std::function<void(const RgbImage&)>& take) {
  const Result<VideoTrack> track = scan(file, limits);
  if (!track) return std::unexpected(track.error());
  DS_CHECK(std::ranges::is_sorted(indices) &&
           (indices.empty() || (indices.front() >= 0 && indices.back() < track->info.num_frames)));
  Result<std::unique_ptr<VideoContainer>> container = VideoContainer::open(file, limits);
  if (!container) return std::unexpected(std::move(container.error()));
  Result<std::unique_ptr<FrameDecoder>> decoder =
      FrameDecoder::open(*(*container)->stream().codecpar, limits.max_pixels);
  if (!decoder) return std::unexpected(std::move(decoder.error()));
  FramePicker picker(*track, indices, **decoder, take);
  const Packet packet = make_packet();
  while (!picker.is_done()) {
    const Result<bool> more = (*container)->read(*packet);
    if (!more) return std::unexpected(more.error());
    (*decoder)->send(*more ? packet.get() : nullptr, !*more || picker.wants(packet->pts));
    if (Result<void> drained = picker.drain(); !drained) return drained;
    if (!*more) break;
  }
  if (!picker.is_done()) return picker.missing();
  return {};
}

}  // namespace deltaserve
