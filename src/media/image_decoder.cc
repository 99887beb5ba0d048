// Signatures, limits, and the way to each decoder.
#include "media/image_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "media/exif.h"
#include "media/image_codecs.h"

namespace deltaserve {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSupported = "JPEG, PNG, WebP and GIF are supported";

struct Codec {
  size_t offset;
  std::string_view signature;  // of the file, at `offset`
  Result<ImageHeader> (*read_header)(Bytes file);
  Result<RgbImage> (*decode)(Bytes file);
};

constexpr std::array<Codec, 5> kCodecs = {{
    {0, "\xFF\xD8\xFF"sv, read_jpeg_header, decode_jpeg},
    {0, "\x89PNG\r\n\x1A\n"sv, read_png_header, decode_png},
    {0, "GIF87a"sv, read_gif_header, decode_gif},
    {0, "GIF89a"sv, read_gif_header, decode_gif},
    {8, "WEBP"sv, read_webp_header, decode_webp},
}};

struct OtherFormat {
  size_t offset;
  std::string_view signature;
  std::string_view name;
};

// What people send by mistake, so that the error can name it.
constexpr OtherFormat kOthers[] = {
    {0, "BM"sv, "a BMP"},
    {0, "II*\0"sv, "a TIFF"},
    {0, "MM\0*"sv, "a TIFF"},
    {0, "II+\0"sv, "a TIFF"},
    {0, "MM\0+"sv, "a TIFF"},
    {4, "ftypavi"sv, "an AVIF"},  // avif, and avis of animations
    {4, "ftyphei"sv, "a HEIC"},
    {4, "ftyphev"sv, "a HEIC"},
    {4, "ftypmif1"sv, "a HEIF"},
    {4, "ftypmsf1"sv, "a HEIF"},
    {4, "ftyp"sv, "a video"},
    {0, "\x1A\x45\xDF\xA3"sv, "a video"},
    {0, "\xFF\x0A"sv, "a JPEG XL"},
    {4, "JXL \r\n"sv, "a JPEG XL"},
    {4, "jP  \r\n"sv, "a JPEG 2000"},
    {0, "\xFF\x4F\xFF\x51"sv, "a JPEG 2000"},
    {0, "\0\0\1\0"sv, "an icon"},
    {0, "8BPS"sv, "a Photoshop file"},
    {0, "%PDF"sv, "a PDF"},
};

// The same for texts, which may begin with a byte order mark and blanks.
constexpr OtherFormat kOtherTexts[] = {
    {0, "<svg"sv, "an SVG"},
    {0, "<!DOCTYPE svg"sv, "an SVG"},
    {0, "<?xml"sv, "an XML or SVG file"},
    {0, "<!--"sv, "an XML or SVG file"},
    {0, "<!doctype html"sv, "an HTML page"},
    {0, "<!DOCTYPE html"sv, "an HTML page"},
    {0, "<html"sv, "an HTML page"},
};

bool has(Bytes file, size_t offset, std::string_view bytes) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  return text.size() >= offset && text.substr(offset).starts_with(bytes);
}

// Null if the file is none of ours.
const Codec* find_codec(Bytes file) {
  const auto* found = std::ranges::find_if(
      kCodecs, [&](const Codec& codec) { return has(file, codec.offset, codec.signature); });
  return found == kCodecs.end() ? nullptr : found;
}

Bytes without_lead(Bytes text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (has(text, 0, kMark)) text = text.subspan(kMark.size());
  const auto is_blank = [](uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  return {std::ranges::find_if_not(text, is_blank), text.end()};
}

// Null if it is none of them.
const OtherFormat* find_other(std::span<const OtherFormat> formats, Bytes file) {
  for (const OtherFormat& other : formats) {
    if (has(file, other.offset, other.signature)) return &other;
  }
  return nullptr;
}

std::unexpected<Error> not_an_image(Bytes file) {
  const OtherFormat* other = find_other(kOthers, file);
  if (other == nullptr) other = find_other(kOtherTexts, without_lead(file));
  if (other != nullptr) {
    return invalid(fmt::format("The image is {}: {}.", other->name, kSupported));
  }
  return invalid(fmt::format("The image is in no known format: {}.", kSupported));
}

Result<void> check_file(Bytes file, const ImageLimits& limits) {
  if (file.empty()) return invalid("The image is empty.");
  if (file.size() > limits.max_bytes) {
    return invalid(fmt::format("The image is a file of {} bytes: at most {} are read.", file.size(),
                               limits.max_bytes));
  }
  return {};
}

Result<ImageHeader> checked_header(const Codec& codec, Bytes file, const ImageLimits& limits) {
  Result<ImageHeader> header = codec.read_header(file);
  if (header && header->pixels() < 1) return invalid("The image has no pixels.");
  if (header && header->pixels() > limits.max_pixels) {
    return invalid(fmt::format("The image is {}x{} pixels: at most {} pixels are decoded.",
                               header->width, header->height, limits.max_pixels));
  }
  return header;
}

}  // namespace

Result<ImageHeader> read_image_header(Bytes file, const ImageLimits& limits) {
  if (const auto checked = check_file(file, limits); !checked) {
    return std::unexpected(checked.error());
  }
  const Codec* codec = find_codec(file);
  if (codec == nullptr) return not_an_image(file);
  return checked_header(*codec, file, limits);
}

Result<RgbImage> decode_image(Bytes file, const ImageLimits& limits) {
  if (const auto checked = check_file(file, limits); !checked) {
    return std::unexpected(checked.error());
  }
  const Codec* codec = find_codec(file);
  if (codec == nullptr) return not_an_image(file);
  const Result<ImageHeader> header = checked_header(*codec, file, limits);
  if (!header) return std::unexpected(header.error());
  Result<RgbImage> image = codec->decode(file);
  if (image) apply_orientation(*image, header->orientation);
  return image;
}

}  // namespace deltaserve
