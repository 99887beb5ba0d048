// The first frame of a GIF (GIF89a specification) as Pillow shows it: on a canvas of the logical
// screen, grown where the frame reaches beyond it, filled with the transparent index or 0.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "media/gif_lzw.h"
#include "media/image_codecs.h"

namespace deltaserve {
namespace {

constexpr uint8_t kExtension = 0x21;
constexpr uint8_t kImage = 0x2C;
constexpr uint8_t kGraphicControl = 0xF9;

using Palette = std::array<uint8_t, 768>;  // 256 x RGB

std::unexpected<Error> broken(std::string_view what) {
  return invalid(fmt::format("The image is not a readable GIF: {}.", what));
}

// Reads forwards; beyond the end everything is zero and ok() false.
class Cursor {
 public:
  explicit Cursor(Bytes file) : rest_(file) {}

  Bytes take(size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const Bytes out = rest_.first(count);
    rest_ = rest_.subspan(count);
    return out;
  }
  uint8_t byte() {
    const Bytes one = take(1);
    return one.empty() ? uint8_t{0} : one[0];
  }
  int32_t short_integer() {  // little endian
    const int32_t low = byte();
    return low | byte() << 8;
  }
  bool ok() const { return ok_; }
  Bytes rest() const { return rest_; }

 private:
  Bytes rest_;
  bool ok_ = true;
};

struct Frame {
  int32_t canvas_width = 0;
  int32_t canvas_height = 0;
  int32_t left = 0;
  int32_t top = 0;
  int32_t width = 0;
  int32_t height = 0;
  bool is_interlaced = false;
  uint8_t fill = 0;  // index of the canvas where the frame is not
  Palette palette{};
  Bytes data;  // LZW code size and sub-blocks
};

// Size bits of a descriptor's flags to a table; the rest of it stays black.
void read_palette(Cursor& cursor, uint8_t flags, Palette& palette) {
  const Bytes table = cursor.take(size_t{3} << ((flags & 7) + 1));
  palette.fill(0);
  std::ranges::copy(table, palette.begin());
}

Palette grey_ramp() {
  Palette ramp{};
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<uint8_t>(i / 3);
  return ramp;
}

void read_extension(Cursor& cursor, Frame& frame) {
  const uint8_t label = cursor.byte();
  bool is_first = true;
  for (uint8_t size = cursor.byte(); size != 0; size = cursor.byte()) {
    const Bytes block = cursor.take(size);
    if (is_first && label == kGraphicControl && block.size() >= 4 && (block[0] & 1) != 0) {
      frame.fill = block[3];
    }
    is_first = false;
  }
}

void read_descriptor(Cursor& cursor, Frame& frame) {
  frame.left = cursor.short_integer();
  frame.top = cursor.short_integer();
  frame.width = cursor.short_integer();
  frame.height = cursor.short_integer();
  const uint8_t flags = cursor.byte();
  frame.is_interlaced = (flags & 0x40) != 0;
  if ((flags & 0x80) != 0) read_palette(cursor, flags, frame.palette);
  frame.canvas_width = std::max(frame.canvas_width, frame.left + frame.width);
  frame.canvas_height = std::max(frame.canvas_height, frame.top + frame.height);
  frame.data = cursor.rest();
}

// Everything before the first frame's pixels.
Result<Frame> read_frame(Bytes file) {
  Cursor cursor(file);
  cursor.take(6);  // "GIF87a" or "GIF89a"
  Frame frame;
  frame.canvas_width = cursor.short_integer();
  frame.canvas_height = cursor.short_integer();
  const uint8_t flags = cursor.byte();
  cursor.take(2);  // background index and aspect, which no viewer uses
  frame.palette = grey_ramp();
  if ((flags & 0x80) != 0) read_palette(cursor, flags, frame.palette);
  while (cursor.ok()) {
    const uint8_t kind = cursor.byte();
    if (kind == kExtension) {
      read_extension(cursor, frame);
    } else if (kind == kImage) {
      read_descriptor(cursor, frame);
      break;
    } else if (kind != 0) {
      return broken("it has no frame");
    }
  }
  if (!cursor.ok()) return broken("it ends in its header");
  if (frame.width < 1 || frame.height < 1) return broken("its frame is empty");
  return frame;
}

// The row of the frame that is stored as the n-th: every eighth from 0, every eighth from 4, every
// fourth from 2, every other from 1.
std::vector<int32_t> interlaced_rows(int32_t height) {
  std::vector<int32_t> rows;
  rows.reserve(static_cast<size_t>(height));
  constexpr std::array<std::array<int32_t, 2>, 4> kPasses = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  for (const auto& [start, step] : kPasses) {
    for (int32_t y = start; y < height; y += step) rows.push_back(y);
  }
  return rows;
}

}  // namespace

Result<ImageHeader> read_gif_header(Bytes file) {
  const Result<Frame> frame = read_frame(file);
  if (!frame) return std::unexpected(frame.error());
  return ImageHeader{frame->canvas_width, frame->canvas_height};
}

Result<RgbImage> decode_gif(Bytes file) {
  const Result<Frame> frame = read_frame(file);
  if (!frame) return std::unexpected(frame.error());
  const auto width = static_cast<size_t>(frame->width);
  const auto height = static_cast<size_t>(frame->height);
  std::vector<uint8_t> indices(width * height);
  if (!decode_gif_lzw(frame->data, indices)) return broken("its pixels are cut or damaged");

  const auto canvas_width = static_cast<size_t>(frame->canvas_width);
  RgbImage image{frame->canvas_width, frame->canvas_height, {}};
  image.pixels.resize(canvas_width * static_cast<size_t>(frame->canvas_height) * 3);
  const auto paint = [&](size_t pixel, uint8_t index) {
    std::copy_n(&frame->palette[size_t{index} * 3], 3, &image.pixels[pixel * 3]);
  };
  for (size_t i = 0; i < image.pixels.size() / 3; ++i) paint(i, frame->fill);
  const std::vector<int32_t> interlaced =
      frame->is_interlaced ? interlaced_rows(frame->height) : std::vector<int32_t>{};
  for (size_t row = 0; row < height; ++row) {
    const size_t y = frame->is_interlaced ? static_cast<size_t>(interlaced[row]) : row;
    const size_t start =
        (y + static_cast<size_t>(frame->top)) * canvas_width + static_cast<size_t>(frame->left);
    for (size_t x = 0; x < width; ++x) paint(start + x, indices[row * width + x]);
  }
  return image;
}

}  // namespace deltaserve
