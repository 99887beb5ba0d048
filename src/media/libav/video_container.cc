// MP4 and Matroska through libav's demuxers, without its probing of formats and of streams: headers
// of both say what a decoder needs, and what is not run cannot be attacked.
#include "media/libav/video_container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "media/libav/display_matrix.h"

extern "C" {
#include <libavutil/log.h>
#include <libavutil/mem.h>
}

namespace deltaserve {
namespace {

using namespace std::string_view_literals;

// Of one allocation inside libav. A header of a few bytes can claim an index of billions of
// entries of 24 bytes; a frame of 16 million pixels, the most that may be allowed, takes 48 MiB as
// RGB.
constexpr size_t kMaxAllocation = size_t{64} << 20;

struct Format {
  size_t offset;
  std::string_view signature;  // of the file, at `offset`
  const char* demuxer;
};

// QuickTime files older than "ftyp" begin with one of the other boxes.
constexpr std::array<Format, 7> kFormats = {{
    {4, "ftyp"sv, "mov"},
    {4, "moov"sv, "mov"},
    {4, "mdat"sv, "mov"},
    {4, "wide"sv, "mov"},
    {4, "free"sv, "mov"},
    {4, "skip"sv, "mov"},
    {0, "\x1A\x45\xDF\xA3"sv, "matroska"},
}};

constexpr std::array<AVCodecID, 5> kCodecs = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8,
                                              AV_CODEC_ID_VP9, AV_CODEC_ID_AV1};

const char* demuxer_of(Bytes file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  for (const Format& format : kFormats) {
    if (text.size() > format.offset && text.substr(format.offset).starts_with(format.signature)) {
      return format.demuxer;
    }
  }
  return nullptr;
}

int refuse_to_open(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

void prepare_library() {
  static const bool ready = [] {
    av_log_set_level(AV_LOG_QUIET);  // what is wrong with a file is the client's to know
    av_max_alloc(kMaxAllocation);
    return true;
  }();
  DS_CHECK(ready);
}

std::unexpected<Error> cut() {
  return invalid("The video is cut or damaged.");
}

std::unexpected<Error> late(const VideoLimits& limits) {
  return invalid(fmt::format("The video takes longer than {:.0f} s to read.",
                             std::chrono::duration<double>(limits.timeout).count()));
}

Result<void> check_size(int32_t width, int32_t height, const VideoLimits& limits) {
  if (width < 1 || height < 1) return invalid("The video has no pixels.");
  if (int64_t{width} * height > limits.max_pixels) {
    return invalid(fmt::format("The video is {}x{} pixels: at most {} pixels a frame are decoded.",
                               width, height, limits.max_pixels));
  }
  return {};
}

// Frames a second, on average: as the header has it, else from the first frame to the last.
double frame_rate(const AVStream& stream, const std::vector<int64_t>& times) {
  const AVRational& rate = stream.avg_frame_rate;
  if (rate.num > 0 && rate.den > 0) return av_q2d(rate);
  const double unit = av_q2d(stream.time_base);
  const double span =
      (static_cast<double>(times.back()) - static_cast<double>(times.front())) * unit;
  return static_cast<double>(times.size() - 1) / span;
}

}  // namespace

Packet make_packet() {
  Packet packet(av_packet_alloc());
  DS_CHECK(packet != nullptr);
  return packet;
}

VideoContainer::VideoContainer(Bytes file, const VideoLimits& limits)
    : file_(file), limits_(limits), deadline_(Clock::now() + limits.timeout), input_(file) {}

VideoContainer::~VideoContainer() {
  avformat_close_input(&format_);
}

int VideoContainer::interrupt(void* self) {
  return static_cast<const VideoContainer*>(self)->is_late() ? 1 : 0;
}

Result<std::unique_ptr<VideoContainer>> VideoContainer::open(Bytes file,
                                                             const VideoLimits& limits) {
  prepare_library();
  if (file.empty()) return invalid("The video is empty.");
  if (file.size() > limits.max_bytes) {
    return invalid(fmt::format("The video is a file of {} bytes: at most {} are read.", file.size(),
                               limits.max_bytes));
  }
  std::unique_ptr<VideoContainer> container(new VideoContainer(file, limits));
  if (const auto opened = container->open_format(); !opened) {
    return std::unexpected(opened.error());
  }
  if (const auto found = container->find_track(); !found) return std::unexpected(found.error());
  return container;
}

Result<void> VideoContainer::open_format() {
  const char* demuxer = demuxer_of(file_);
  if (demuxer == nullptr) {
    return invalid(
        "The video is in no known format: MP4, QuickTime, Matroska and WebM are "
        "supported.");
  }
  const AVInputFormat* input_format = av_find_input_format(demuxer);
  DS_CHECK(input_format != nullptr, demuxer);
  format_ = avformat_alloc_context();
  DS_CHECK(format_ != nullptr);
  format_->pb = input_.context();
  format_->flags |= AVFMT_FLAG_CUSTOM_IO;
  format_->io_open = refuse_to_open;
  format_->interrupt_callback = {.callback = interrupt, .opaque = this};
  AVDictionary* options = nullptr;
  av_dict_set(&options, "protocol_whitelist", "none", 0);
  const int status = avformat_open_input(&format_, nullptr, input_format, &options);
  av_dict_free(&options);
  if (status >= 0) return {};
  return is_late() ? late(limits_) : cut();
}

Result<void> VideoContainer::find_track() {
  const std::span streams(format_->streams, format_->nb_streams);
  for (AVStream* stream : streams) {
    stream->discard = AVDISCARD_ALL;
    const bool is_video = stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
                          (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) == 0;
    if (is_video && stream_ == nullptr) stream_ = stream;
  }
  if (stream_ == nullptr) return invalid("The video has no pictures: it may be sound alone.");
  stream_->discard = AVDISCARD_DEFAULT;
  const AVCodecParameters& parameters = *stream_->codecpar;
  if (std::ranges::find(kCodecs, parameters.codec_id) == kCodecs.end()) {
    return invalid(
        fmt::format("The video is coded as '{}': H.264, HEVC, VP8, VP9 and AV1 are "
                    "supported.",
                    avcodec_get_name(parameters.codec_id)));
  }
  return check_size(parameters.width, parameters.height, limits_);
}

Result<bool> VideoContainer::read(AVPacket& packet) {
  for (;;) {
    av_packet_unref(&packet);
    const int status = av_read_frame(format_, &packet);
    if (is_late()) return late(limits_);
    if (status == AVERROR_EOF) return false;
    if (status < 0) return cut();
    if (packet.stream_index != stream_->index) continue;
    if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0 || packet.pts == AV_NOPTS_VALUE) return cut();
    return true;
  }
}

Result<VideoTrack> VideoContainer::scan() {
  VideoTrack track;
  const Packet packet = make_packet();
  for (;;) {
    const Result<bool> more = read(*packet);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0) continue;  // cut away by an edit list
    track.times.push_back(packet->pts);
    if (static_cast<int64_t>(track.times.size()) > limits_.max_frames) {
      return invalid(fmt::format("The video has more than {} frames.", limits_.max_frames));
    }
  }
  // The two fields of a frame may come in two packets of one time.
  std::ranges::sort(track.times);
  track.times.erase(std::ranges::unique(track.times).begin(), track.times.end());
  if (track.times.size() < 2) {
    return invalid(
        fmt::format("The video has {} frames: it needs two at least.", track.times.size()));
  }
  VideoInfo& info = track.info;
  info = {stream_->codecpar->width, stream_->codecpar->height,
          static_cast<int64_t>(track.times.size()), frame_rate(*stream_, track.times)};
  const double seconds = static_cast<double>(info.num_frames) / info.fps;
  if (!std::isfinite(info.fps) || info.fps <= 0.0 || seconds > limits_.max_seconds) {
    return invalid(fmt::format("The video lasts {:.0f} s: at most {:.0f} s are taken.", seconds,
                               limits_.max_seconds));
  }
  track.orientation = stream_orientation(*stream_);
  if (track.orientation >= 5) std::swap(info.width, info.height);
  return track;
}

}  // namespace deltaserve
