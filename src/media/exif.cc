// TIFF 6.0 directory walk, and the eight symmetries of a rectangle.
#include "media/exif.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace deltaserve {
namespace {

constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kTypeShort = 3;
constexpr uint32_t kTypeLong = 4;  // some writers' choice
constexpr size_t kEntryBytes = 12;

// Unsigned integers of a block in its own byte order; none beyond its end.
class TiffReader {
 public:
  TiffReader(Bytes bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  std::optional<uint32_t> integer(size_t at, size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value = value << 8 | bytes_[at + (big_endian_ ? i : size - 1 - i)];
    }
    return value;
  }

 private:
  Bytes bytes_;
  bool big_endian_;
};

}  // namespace

int32_t exif_orientation(Bytes exif) {
  constexpr std::array<uint8_t, 6> kPrefix = {'E', 'x', 'i', 'f', 0, 0};
  const bool has_prefix =
      exif.size() >= kPrefix.size() && std::equal(kPrefix.begin(), kPrefix.end(), exif.begin());
  const Bytes tiff = has_prefix ? exif.subspan(kPrefix.size()) : exif;
  if (tiff.size() < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return 1;
  const TiffReader reader(tiff, tiff[0] == 'M');
  if (reader.integer(2, 2) != 42) return 1;
  const size_t directory = *reader.integer(4, 4);
  const uint32_t count = reader.integer(directory, 2).value_or(0);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    const auto tag = reader.integer(entry, 2);
    if (!tag) return 1;
    if (*tag != kOrientationTag) continue;
    const auto type = reader.integer(entry + 2, 2);
    if (type != kTypeShort && type != kTypeLong) return 1;
    const size_t size = type == kTypeShort ? 2 : 4;
    const size_t values = reader.integer(entry + 4, 4).value_or(0);
    const uint32_t value = reader.integer(entry + 8, size).value_or(1);
    // More than four bytes would stand elsewhere.
    const bool is_whole = reader.integer(entry + 8, 4).has_value();
    const bool is_here = values >= 1 && values * size <= 4;
    const bool is_known = is_whole && is_here && value >= 1 && value <= 8;
    return is_known ? static_cast<int32_t>(value) : 1;
  }
  return 1;
}

void apply_orientation(RgbImage& image, int32_t orientation) {
  if (orientation <= 1) return;
  const bool transpose = orientation >= 5;
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  // A picture's (x, y) is stored at column x' and row y' with the axes swapped first, then
  // mirrored.
  RgbImage out{transpose ? image.height : image.width, transpose ? image.width : image.height, {}};
  out.pixels.resize(image.pixels.size());
  const auto stored_width = static_cast<size_t>(image.width);
  const auto stored_height = static_cast<size_t>(image.height);
  const auto width = static_cast<size_t>(out.width);
  const auto height = static_cast<size_t>(out.height);
  uint8_t* to = out.pixels.data();
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      const size_t column = transpose ? y : x;
      const size_t row = transpose ? x : y;
      const size_t from_column = flip_x ? stored_width - 1 - column : column;
      const size_t from_row = flip_y ? stored_height - 1 - row : row;
      const uint8_t* from = &image.pixels[(from_row * stored_width + from_column) * 3];
      to = std::copy_n(from, 3, to);
    }
  }
  image = std::move(out);
}

}  // namespace deltaserve
