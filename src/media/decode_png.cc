// PNG through libspng, which expands greys and palettes and keeps the high byte of 16-bit samples.
// One case differs from Pillow on purpose: it clips 16-bit greys at 255, which leaves white.
#include <fmt/format.h>
#include <spng.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

#include "media/exif.h"
#include "media/image_codecs.h"

namespace deltaserve {
namespace {

// Ancillary chunks (colour profiles, texts) are inflated by the library: real ones have up to a few
// hundred KiB.
constexpr size_t kMaxChunkBytes = size_t{4} << 20;
constexpr size_t kMaxCachedBytes = size_t{8} << 20;

using Decoder = std::unique_ptr<spng_ctx, void (*)(spng_ctx*)>;

std::unexpected<Error> broken(int code) {
  return invalid(fmt::format("The image is not a readable PNG: {}.", spng_strerror(code)));
}

// `file` must outlive the decoder.
Result<Decoder> open_png(Bytes file) {
  Decoder decoder(spng_ctx_new(0), spng_ctx_free);
  spng_set_chunk_limits(decoder.get(), kMaxChunkBytes, kMaxCachedBytes);
  if (const int failed = spng_set_png_buffer(decoder.get(), file.data(), file.size())) {
    return broken(failed);
  }
  return decoder;
}

// The body of the first eXIf chunk, empty without one. It may stand behind the pixels, where the
// library would find it only after decoding.
Bytes find_exif(Bytes file) {
  constexpr size_t kSignature = 8;
  constexpr size_t kAround = 12;  // length and type before the body, a checksum behind it
  constexpr std::string_view kType = "eXIf";
  for (size_t at = kSignature; file.size() - at >= kAround;) {
    const size_t length = size_t{file[at]} << 24 | size_t{file[at + 1]} << 16 |
                          size_t{file[at + 2]} << 8 | size_t{file[at + 3]};
    if (length > file.size() - at - kAround) break;
    if (std::ranges::equal(kType, file.subspan(at + 4, kType.size()))) {
      return file.subspan(at + 8, length);
    }
    at += kAround + length;
  }
  return {};
}

}  // namespace

Result<ImageHeader> read_png_header(Bytes file) {
  const Result<Decoder> decoder = open_png(file);
  if (!decoder) return std::unexpected(decoder.error());
  spng_ihdr head{};
  if (const int failed = spng_get_ihdr(decoder->get(), &head)) return broken(failed);
  ImageHeader header{static_cast<int32_t>(head.width), static_cast<int32_t>(head.height)};
  header.orientation = exif_orientation(find_exif(file));
  return header;
}

Result<RgbImage> decode_png(Bytes file) {
  const Result<Decoder> decoder = open_png(file);
  if (!decoder) return std::unexpected(decoder.error());
  spng_ihdr head{};
  if (const int failed = spng_get_ihdr(decoder->get(), &head)) return broken(failed);
  RgbImage image{static_cast<int32_t>(head.width), static_cast<int32_t>(head.height), {}};
  size_t size = 0;
  if (const int failed = spng_decoded_image_size(decoder->get(), SPNG_FMT_RGB8, &size)) {
    return broken(failed);
  }
  image.pixels.resize(size);
  if (const int failed =
          spng_decode_image(decoder->get(), image.pixels.data(), size, SPNG_FMT_RGB8, 0)) {
    return broken(failed);
  }
  return image;
}

}  // namespace deltaserve
