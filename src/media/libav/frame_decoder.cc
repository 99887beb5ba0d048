// libavcodec without threads and without guesses at what is missing; libswscale for colours.
#include "media/libav/frame_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace deltaserve {
namespace {

// The decoders of libav's own, and the one that Debian builds it with for AV1.
const char* decoder_name(AVCodecID codec) {
  return codec == AV_CODEC_ID_AV1 ? "libdav1d" : avcodec_get_name(codec);
}

std::unexpected<Error> damaged() {
  return invalid("The video has a frame that is cut or damaged.");
}

}  // namespace

Result<std::unique_ptr<FrameDecoder>> FrameDecoder::open(const AVCodecParameters& parameters,
                                                         int64_t max_pixels) {
  const AVCodec* codec = avcodec_find_decoder_by_name(decoder_name(parameters.codec_id));
  if (codec == nullptr) {
    return invalid(
        fmt::format("The video is coded as '{}', for which this server's libav has no "
                    "decoder.",
                    avcodec_get_name(parameters.codec_id)));
  }
  std::unique_ptr<FrameDecoder> decoder(new FrameDecoder);
  decoder->context_.reset(avcodec_alloc_context3(codec));
  decoder->frame_.reset(av_frame_alloc());
  DS_CHECK(decoder->context_ != nullptr && decoder->frame_ != nullptr);
  AVCodecContext& context = *decoder->context_;
  context.thread_count = 1;
  context.max_pixels = max_pixels;
  context.error_concealment = 0;
  if (avcodec_parameters_to_context(&context, &parameters) < 0 ||
      avcodec_open2(&context, codec, nullptr) < 0) {
    return invalid("The video's header is cut or damaged.");
  }
  return decoder;
}

void FrameDecoder::send(const AVPacket* packet, bool is_wanted) {
  context_->skip_frame = is_wanted ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
  const int status = avcodec_send_packet(context_.get(), packet);
  DS_CHECK(status != AVERROR(EAGAIN), "frames were left in the decoder");
}

const AVFrame* FrameDecoder::receive() {
  av_frame_unref(frame_.get());
  for (;;) {
    const int status = avcodec_receive_frame(context_.get(), frame_.get());
    if (status == 0) return frame_.get();
    if (status == AVERROR(EAGAIN) || status == AVERROR_EOF) return nullptr;
  }
}

bool FrameDecoder::prepare_scaler(const AVFrame& frame) {
  const bool is_ready = scaler_ != nullptr && rgb_ != nullptr && rgb_->buf[0] != nullptr &&
                        frame.format == scaled_format_ && frame.width == rgb_->width &&
                        frame.height == rgb_->height;
  if (is_ready) return true;
  const auto format = static_cast<AVPixelFormat>(frame.format);
  scaler_.reset(sws_getContext(frame.width, frame.height, format, frame.width, frame.height,
                               AV_PIX_FMT_RGB24, SWS_BICUBIC | SWS_ACCURATE_RND, nullptr, nullptr,
                               nullptr));
  scaled_format_ = frame.format;
  if (scaler_ == nullptr) return false;
  // Files that do not say which matrix they have mean BT.601, as players take it.
  const int* matrix = sws_getCoefficients(frame.colorspace);
  constexpr int kOne = 1 << 16;
  sws_setColorspaceDetails(scaler_.get(), matrix, frame.color_range == AVCOL_RANGE_JPEG ? 1 : 0,
                           sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, kOne, kOne);
  rgb_.reset(av_frame_alloc());
  DS_CHECK(rgb_ != nullptr);
  rgb_->format = AV_PIX_FMT_RGB24;
  rgb_->width = frame.width;
  rgb_->height = frame.height;
  return av_frame_get_buffer(rgb_.get(), 0) == 0;
}

Result<RgbImage> FrameDecoder::convert(const AVFrame& frame) {
  const bool is_damaged =
      frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0;
  if (is_damaged || !prepare_scaler(frame)) return damaged();
  if (sws_scale(scaler_.get(), frame.data, frame.linesize, 0, frame.height, rgb_->data,
                rgb_->linesize) != frame.height) {
    return damaged();
  }
  RgbImage image{frame.width, frame.height, {}};
  const auto row = static_cast<size_t>(frame.width) * 3;
  image.pixels.resize(row * static_cast<size_t>(frame.height));
  for (int y = 0; y < frame.height; ++y) {
    std::copy_n(rgb_->data[0] + std::ptrdiff_t{y} * rgb_->linesize[0], row,
                &image.pixels[static_cast<size_t>(y) * row]);
  }
  return image;
}

}  // namespace deltaserve
