// WebP through libwebp; its animation decoder draws the first frame of animations.
#include <webp/decode.h>
#include <webp/demux.h>

#include <cstddef>
#include <memory>

#include "media/exif.h"
#include "media/image_codecs.h"

namespace deltaserve {
namespace {

std::unexpected<Error> broken() {
  return invalid("The image is not a readable WebP: it is cut or damaged.");
}

using Demuxer = std::unique_ptr<WebPDemuxer, void (*)(WebPDemuxer*)>;
using AnimDecoder = std::unique_ptr<WebPAnimDecoder, void (*)(WebPAnimDecoder*)>;

int32_t orientation_of(Bytes file) {
  const WebPData data{file.data(), file.size()};
  const Demuxer demuxer(WebPDemux(&data), WebPDemuxDelete);
  WebPChunkIterator chunk{};
  if (demuxer == nullptr || WebPDemuxGetChunk(demuxer.get(), "EXIF", 1, &chunk) == 0) return 1;
  const int32_t orientation = exif_orientation({chunk.chunk.bytes, chunk.chunk.size});
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

Result<RgbImage> first_frame(Bytes file, const WebPBitstreamFeatures& features) {
  const WebPData data{file.data(), file.size()};
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0) return broken();
  options.color_mode = MODE_RGBA;
  const AnimDecoder decoder(WebPAnimDecoderNew(&data, &options), WebPAnimDecoderDelete);
  uint8_t* rgba = nullptr;
  int timestamp = 0;
  if (decoder == nullptr || WebPAnimDecoderGetNext(decoder.get(), &rgba, &timestamp) == 0) {
    return broken();
  }
  RgbImage image{features.width, features.height, {}};
  const size_t count = static_cast<size_t>(features.width) * static_cast<size_t>(features.height);
  image.pixels.resize(count * 3);
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) image.pixels[i * 3 + c] = rgba[i * 4 + c];
  }
  return image;
}

}  // namespace

Result<ImageHeader> read_webp_header(Bytes file) {
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK) return broken();
  return ImageHeader{features.width, features.height, orientation_of(file)};
}

Result<RgbImage> decode_webp(Bytes file) {
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK) return broken();
  if (features.has_animation != 0) return first_frame(file, features);
  RgbImage image{features.width, features.height, {}};
  const int stride = features.width * 3;
  image.pixels.resize(static_cast<size_t>(stride) * static_cast<size_t>(features.height));
  if (WebPDecodeRGBInto(file.data(), file.size(), image.pixels.data(), image.pixels.size(),
                        stride) == nullptr) {
    return broken();
  }
  return image;
}

}  // namespace deltaserve
