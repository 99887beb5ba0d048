// Packets to RGB frames, on the caller's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/error.h"
#include "media/rgb_image.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libswscale/swscale.h>
}

namespace deltaserve {

class FrameDecoder {
 public:
  // Errors: kInvalidArgument if this build of libav has no decoder for the track.
  static Result<std::unique_ptr<FrameDecoder>> open(const AVCodecParameters& parameters,
                                                    int64_t max_pixels);

  // Decodes one packet, null for the end. `is_wanted`: without it the frame is not decoded if no
  // other needs it. What a packet holds may be damaged: only frames that are taken must be whole.
  void send(const AVPacket* packet, bool is_wanted);
  // The next frame that is ready, or null; valid until the next call.
  const AVFrame* receive();
  // 8-bit RGB, [height, width, 3]. Errors: a frame that is damaged or cannot be converted.
  Result<RgbImage> convert(const AVFrame& frame);

 private:
  struct FreeContext {
    void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
  };
  struct FreeFrame {
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  };
  struct FreeScaler {
    void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
  };

  FrameDecoder() = default;
  // A stream may change its format on the way; the scaler is for one.
  bool prepare_scaler(const AVFrame& frame);

  std::unique_ptr<AVCodecContext, FreeContext> context_;
  std::unique_ptr<AVFrame, FreeFrame> frame_;
  std::unique_ptr<AVFrame, FreeFrame> rgb_;  // rows padded as the scaler wants them
  std::unique_ptr<SwsContext, FreeScaler> scaler_;
  int scaled_format_ = AV_PIX_FMT_NONE;  // what scaler_ takes
};

}  // namespace deltaserve
