// Rounding is that of numpy and Python: halves to the even neighbour, int() towards zero.
#include "media/video_sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deltaserve {
namespace {

constexpr double kMaxAspect = 200.0;  // transformers' own limit
// A token limit leaves a video at least this much more than the least area.
constexpr double kSlack = 1.05;

// Python's round to a multiple of `factor`.
int64_t round_to_multiple(int64_t value, int64_t factor) {
  const double count = std::nearbyint(static_cast<double>(value) / static_cast<double>(factor));
  return static_cast<int64_t>(count) * factor;
}

int64_t greatest_area(int64_t num_frames, int64_t factor, const VideoSettings& settings) {
  if (settings.max_frame_tokens == 0) return settings.frame.max_pixels;
  const int64_t share = settings.frame.max_pixels / num_frames;
  const int64_t most = std::min(settings.max_frame_tokens * factor * factor, share);
  const auto least = static_cast<int64_t>(static_cast<double>(settings.frame.min_pixels) * kSlack);
  return std::max(most, least) * num_frames;
}

// Frames smaller than a token are first enlarged to it.
ImageSize at_least(ImageSize size, int32_t factor) {
  if (size.height >= factor && size.width >= factor) return size;
  const double scale =
      std::max(static_cast<double>(factor) / size.height, static_cast<double>(factor) / size.width);
  return {static_cast<int32_t>(size.height * scale), static_cast<int32_t>(size.width * scale)};
}

}  // namespace

std::vector<int64_t> sample_frames(int64_t num_frames, double fps, const VideoSettings& settings) {
  const double wanted = std::trunc(static_cast<double>(num_frames) / fps * settings.fps);
  const double count =
      std::min({std::max(wanted, static_cast<double>(settings.min_frames)),
                static_cast<double>(settings.max_frames), static_cast<double>(num_frames)});
  const auto n = static_cast<int64_t>(count);
  std::vector<int64_t> indices;
  indices.reserve(static_cast<size_t>(n));
  const double step = static_cast<double>(num_frames - 1) / static_cast<double>(n - 1);
  for (int64_t i = 0; i < n - 1; ++i) {
    indices.push_back(static_cast<int64_t>(std::nearbyint(static_cast<double>(i) * step)));
  }
  indices.push_back(n == 1 ? 0 : num_frames - 1);
  return indices;
}

std::vector<double> patch_times(std::span<const int64_t> indices, double fps,
                                int32_t temporal_patch_size) {
  const auto patch = static_cast<size_t>(temporal_patch_size);
  std::vector<double> times;
  for (size_t first = 0; first < indices.size(); first += patch) {
    const size_t last = std::min(first + patch, indices.size()) - 1;
    const double begin = static_cast<double>(indices[first]) / fps;
    const double end = static_cast<double>(indices[last]) / fps;
    times.push_back((begin + end) / 2.0);
  }
  return times;
}

Result<ImageSize> video_resize(int64_t num_frames, ImageSize size, const VideoSettings& settings) {
  const int32_t temporal = settings.frame.temporal_patch_size;
  const int32_t factor = settings.frame.patch_size * settings.frame.merge_size;
  if (num_frames < temporal) {
    return invalid(
        fmt::format("The video has {} frames: it needs {} at least.", num_frames, temporal));
  }
  if (size.height < 1 || size.width < 1) return invalid("The video has no pixels.");
  const auto [height, width] = at_least(size, factor);
  if (std::max(height, width) / static_cast<double>(std::min(height, width)) > kMaxAspect) {
    return invalid(
        fmt::format("The video is {}x{} pixels: one side must not be more than {:.0f} "
                    "times the other.",
                    size.width, size.height, kMaxAspect));
  }
  ImageSize out{static_cast<int32_t>(round_to_multiple(height, factor)),
                static_cast<int32_t>(round_to_multiple(width, factor))};
  const int64_t rounded = round_to_multiple(num_frames, temporal) * out.height * out.width;
  const int64_t greatest = greatest_area(num_frames, factor, settings);
  const auto area = static_cast<double>(num_frames * height * width);
  if (rounded > greatest) {
    const double beta = std::sqrt(area / static_cast<double>(greatest));
    const auto shrink = [&](int32_t side) {
      return std::max(factor, static_cast<int32_t>(std::floor(side / beta / factor)) * factor);
    };
    out = {shrink(height), shrink(width)};
  } else if (rounded < settings.frame.min_pixels) {
    const double beta = std::sqrt(static_cast<double>(settings.frame.min_pixels) / area);
    const auto grow = [&](int32_t side) {
      return static_cast<int32_t>(std::ceil(side * beta / factor)) * factor;
    };
    out = {grow(height), grow(width)};
  }
  return out;
}

}  // namespace deltaserve
