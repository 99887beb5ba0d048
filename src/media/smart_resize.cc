// smart_resize: see the header.
#include "media/smart_resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deltaserve {
namespace {

constexpr int32_t kMaxAspect = 200;  // transformers' own limit

// Python's round: halves go to the even neighbour, as nearbyint does in the default mode.
int32_t round_to_multiple(int32_t side, int32_t factor) {
  return static_cast<int32_t>(std::nearbyint(static_cast<double>(side) / factor)) * factor;
}

}  // namespace

Result<ImageSize> smart_resize(ImageSize size, const ResizeLimits& limits) {
  const auto [height, width] = size;
  const int32_t factor = limits.factor;
  const int32_t shorter = std::min(height, width);
  const int32_t longer = std::max(height, width);
  if (shorter < 1 || longer / static_cast<double>(shorter) > kMaxAspect) {
    return invalid(
        fmt::format("The image is {}x{} pixels: one side must not be more than {} times "
                    "the other.",
                    width, height, kMaxAspect));
  }
  const auto area = static_cast<double>(int64_t{height} * width);
  ImageSize out{round_to_multiple(height, factor), round_to_multiple(width, factor)};
  const int64_t rounded_area = int64_t{out.height} * out.width;
  if (rounded_area > limits.max_pixels) {
    const double beta = std::sqrt(area / static_cast<double>(limits.max_pixels));
    const auto shrink = [&](int32_t side) {
      return std::max(factor, static_cast<int32_t>(std::floor(side / beta / factor)) * factor);
    };
    out = {shrink(height), shrink(width)};
  } else if (rounded_area < limits.min_pixels) {
    const double beta = std::sqrt(static_cast<double>(limits.min_pixels) / area);
    const auto grow = [&](int32_t side) {
      return static_cast<int32_t>(std::ceil(side * beta / factor)) * factor;
    };
    out = {grow(height), grow(width)};
  }
  return out;
}

}  // namespace deltaserve
