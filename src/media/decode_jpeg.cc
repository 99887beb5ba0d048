// JPEG through libjpeg-turbo with the accurate transform, as Pillow decodes it.
#include <fmt/format.h>
#include <turbojpeg.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "media/exif.h"
#include "media/image_codecs.h"
#include "media/jpeg_segments.h"

namespace deltaserve {
namespace {

// A progressive file of usual writers has about ten; every one is a pass over the picture, so that
// a small file with thousands would keep a thread busy for minutes.
constexpr int32_t kMaxScans = 64;

using Decompressor = std::unique_ptr<void, int (*)(void*)>;

Decompressor make_decompressor() {
  return {tjInitDecompress(), tjDestroy};
}

// Whether a call of the library failed. Its warnings are for damage that a viewer shows as a few
// odd blocks, or not at all.
bool has_failed(tjhandle handle, int result) {
  return result != 0 && tjGetErrorCode(handle) != TJERR_WARNING;
}

// The library's words without the name of its function before them.
std::unexpected<Error> broken(tjhandle handle) {
  std::string_view reason = tjGetErrorStr2(handle);
  constexpr std::string_view kAfterName = "(): ";
  if (const size_t at = reason.find(kAfterName); at != std::string_view::npos) {
    reason.remove_prefix(at + kAfterName.size());
  }
  return invalid(fmt::format("The image is not a readable JPEG: {}.", reason));
}

struct JpegInfo {
  int width = 0;
  int height = 0;
  int colorspace = -1;
};

Result<JpegInfo> read_info(tjhandle handle, Bytes file) {
  JpegInfo info;
  int subsampling = -1;
  const int result =
      tjDecompressHeader3(handle, file.data(), static_cast<unsigned long>(file.size()), &info.width,
                          &info.height, &subsampling, &info.colorspace);
  // Sampling that has no name in this library (two inks of four with fewer samples) is an error
  // after all else has been told; it is decoded like any other.
  const bool is_told = info.width > 0 && info.height > 0 && info.colorspace >= 0;
  if (has_failed(handle, result) && !(is_told && subsampling < 0)) return broken(handle);
  return info;
}

Result<void> decompress(tjhandle handle, Bytes file, const JpegInfo& info, TJPF format,
                        std::vector<uint8_t>& out) {
  out.resize(static_cast<size_t>(info.width) * static_cast<size_t>(info.height) *
             static_cast<size_t>(tjPixelSize[format]));
  const int result =
      tjDecompress2(handle, file.data(), static_cast<unsigned long>(file.size()), out.data(),
                    info.width, 0, info.height, format, TJFLAG_ACCURATEDCT);
  if (has_failed(handle, result)) return broken(handle);
  return {};
}

uint8_t scale(int value, int factor) {  // value * factor / 255, rounded, without a division
  const int product = value * factor + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

// Inks are stored inverted, as Adobe's programs write them and Pillow assumes: what is left of the
// light after one ink and the black.
std::vector<uint8_t> rgb_of_inverted_cmyk(const std::vector<uint8_t>& cmyk) {
  std::vector<uint8_t> out(cmyk.size() / 4 * 3);
  for (size_t i = 0, o = 0; i < cmyk.size(); i += 4, o += 3) {
    const int light = cmyk[i + 3];
    for (size_t c = 0; c < 3; ++c) {
      const int ink = 255 - cmyk[i + c];
      out[o + c] = static_cast<uint8_t>(light - scale(ink, light));
    }
  }
  return out;
}

}  // namespace

Result<ImageHeader> read_jpeg_header(Bytes file) {
  const Decompressor handle = make_decompressor();
  const Result<JpegInfo> info = read_info(handle.get(), file);
  if (!info) return std::unexpected(info.error());
  const JpegSegments segments = walk_jpeg_segments(file);
  // libjpeg would fill what is missing with grey.
  if (!segments.is_complete) return invalid("The image is cut: the JPEG has no end.");
  if (segments.num_scans > kMaxScans) {
    return invalid(fmt::format("The image is a JPEG of {} scans: at most {} are decoded.",
                               segments.num_scans, kMaxScans));
  }
  return ImageHeader{info->width, info->height, exif_orientation(segments.exif_tiff)};
}

Result<RgbImage> decode_jpeg(Bytes file) {
  const Decompressor handle = make_decompressor();
  const Result<JpegInfo> info = read_info(handle.get(), file);
  if (!info) return std::unexpected(info.error());
  const bool inks = info->colorspace == TJCS_CMYK || info->colorspace == TJCS_YCCK;
  RgbImage image{info->width, info->height, {}};
  const Result<void> done =
      decompress(handle.get(), file, *info, inks ? TJPF_CMYK : TJPF_RGB, image.pixels);
  if (!done) return std::unexpected(done.error());
  if (inks) image.pixels = rgb_of_inverted_cmyk(image.pixels);
  return image;
}

}  // namespace deltaserve
