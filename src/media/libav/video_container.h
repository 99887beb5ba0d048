// The packets of a file's one video track. Everything that could lead out of the file is shut: the
// demuxer is chosen here and not probed, no protocol is allowed, and opening anything else fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "media/libav/memory_input.h"
#include "media/video_decoder.h"

extern "C" {
#include <libavformat/avformat.h>
}

namespace deltaserve {

struct FreePacket {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};
using Packet = std::unique_ptr<AVPacket, FreePacket>;

Packet make_packet();

// What the scan of a whole track finds.
struct VideoTrack {
  VideoInfo info;
  int32_t orientation = 1;     // as EXIF counts: how the stored frames lie in the upright picture
  std::vector<int64_t> times;  // [info.num_frames], ascending, in the track's own unit
};

class VideoContainer {
 public:
  // The bytes must outlive the result. Errors: kInvalidArgument.
  static Result<std::unique_ptr<VideoContainer>> open(Bytes file, const VideoLimits& limits);
  ~VideoContainer();
  VideoContainer(const VideoContainer&) = delete;
  VideoContainer& operator=(const VideoContainer&) = delete;

  // The next packet of the track; false at the end. Errors: a file that is cut, and the time limit.
  Result<bool> read(AVPacket& packet);
  // Reads all packets. Errors: those of read, and a track that is beyond the limits.
  Result<VideoTrack> scan();

  const AVStream& stream() const { return *stream_; }

 private:
  using Clock = std::chrono::steady_clock;

  VideoContainer(Bytes file, const VideoLimits& limits);
  Result<void> open_format();
  Result<void> find_track();
  bool is_late() const { return Clock::now() > deadline_; }
  static int interrupt(void* self);

  Bytes file_;
  VideoLimits limits_;
  Clock::time_point deadline_;
  MemoryInput input_;
  AVFormatContext* format_ = nullptr;
  AVStream* stream_ = nullptr;
};

}  // namespace deltaserve
