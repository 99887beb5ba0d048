// A picture is a product of two passes: rows are resampled first, then columns, each rounded to 8
// bits. The filter is the cubic of Keys (a = -1/2), widened by the scale where the picture shrinks,
// so that every source pixel counts. Weights are integers of kPrecision fractional bits.
#include "media/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace deltaserve {
namespace {

// 32 bits less 8 of a pixel and 2 of headroom for weights beyond 1 and below 0: Pillow's number.
constexpr int32_t kPrecision = 32 - 8 - 2;
constexpr double kSupport = 2.0;  // the cubic is zero beyond
constexpr size_t kChannels = 3;

double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return 0.0;
}

// Which source samples make one output sample, and their weights.
struct Taps {
  size_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Taps> make_taps(int32_t from, int32_t to) {
  const double scale = static_cast<double>(from) / to;
  const double stretch = std::max(scale, 1.0);
  const double support = kSupport * stretch;
  std::vector<Taps> taps(static_cast<size_t>(to));
  std::vector<double> weights;
  for (int32_t i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const int32_t begin = std::max(0, static_cast<int32_t>(std::floor(center - support + 0.5)));
    const int32_t end = std::min(from, static_cast<int32_t>(std::floor(center + support + 0.5)));
    weights.clear();
    double sum = 0.0;
    for (int32_t j = begin; j < end; ++j) {
      weights.push_back(cubic((j - center + 0.5) * (1.0 / stretch)));
      sum += weights.back();
    }
    Taps& out = taps[static_cast<size_t>(i)];
    out.first = static_cast<size_t>(begin);
    for (const double weight : weights) {
      const double exact = weight / sum * (1 << kPrecision);
      out.weights.push_back(static_cast<int32_t>(exact < 0.0 ? exact - 0.5 : exact + 0.5));
    }
  }
  return taps;
}

uint8_t to_pixel(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kPrecision, 0, 255));
}

constexpr int32_t kHalf = 1 << (kPrecision - 1);

// [height, width, 3] -> [height, new width, 3]
RgbImage resize_rows(const RgbImage& image, int32_t new_width) {
  const std::vector<Taps> taps = make_taps(image.width, new_width);
  RgbImage out{new_width, image.height, {}};
  const size_t row_bytes = static_cast<size_t>(image.width) * kChannels;
  out.pixels.resize(static_cast<size_t>(image.height) * taps.size() * kChannels);
  uint8_t* to = out.pixels.data();
  for (size_t y = 0; y < static_cast<size_t>(image.height); ++y) {
    const uint8_t* row = &image.pixels[y * row_bytes];
    for (const Taps& tap : taps) {
      int32_t red = kHalf;
      int32_t green = kHalf;
      int32_t blue = kHalf;
      const uint8_t* from = row + tap.first * kChannels;
      for (const int32_t weight : tap.weights) {
        red += weight * from[0];
        green += weight * from[1];
        blue += weight * from[2];
        from += kChannels;
      }
      *to++ = to_pixel(red);
      *to++ = to_pixel(green);
      *to++ = to_pixel(blue);
    }
  }
  return out;
}

// sums[i] += weight * row[i]: the loop that takes most of the time of a column pass.
void add_row(const uint8_t* row, int32_t weight, std::vector<int32_t>& sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += weight * row[i];
}

// [height, width, 3] -> [new height, width, 3]
RgbImage resize_columns(const RgbImage& image, int32_t new_height) {
  const std::vector<Taps> taps = make_taps(image.height, new_height);
  RgbImage out{image.width, new_height, {}};
  const size_t row_bytes = static_cast<size_t>(image.width) * kChannels;
  out.pixels.resize(taps.size() * row_bytes);
  std::vector<int32_t> sums(row_bytes);
  uint8_t* to = out.pixels.data();
  for (const Taps& tap : taps) {
    std::ranges::fill(sums, kHalf);
    const uint8_t* row = &image.pixels[tap.first * row_bytes];
    for (const int32_t weight : tap.weights) {
      add_row(row, weight, sums);
      row += row_bytes;
    }
    to = std::ranges::transform(sums, to, to_pixel).out;
  }
  return out;
}

}  // namespace

RgbImage resize_bicubic(RgbImage image, ImageSize size) {
  if (image.width != size.width) image = resize_rows(image, size.width);
  if (image.height != size.height) image = resize_columns(image, size.height);
  return image;
}

}  // namespace deltaserve
