// What a video costs a worker thread before the vision tower sees it, in CPU time of one core:
// reading the container, decoding up to the last frame that is taken, and all of it with resizing,
// hash and patches.
//   bench_videos LEAST_AREA GREATEST_AREA FILE...
// The areas are those of video_preprocessor_config.json. bench/media/videos.py makes the files and
// sets ffmpeg beside it. The median of several passes counts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "media/video_processor.h"

namespace deltaserve {
namespace {

constexpr int kPasses = 3;  // odd, for the median

double median_ms(const std::function<void()>& step) {
  std::vector<double> times;
  for (int pass = 0; pass < kPasses; ++pass) {
    const std::clock_t start = std::clock();
    step();
    times.push_back(static_cast<double>(std::clock() - start) * 1000.0 / CLOCKS_PER_SEC);
  }
  std::ranges::nth_element(times, times.begin() + kPasses / 2);
  return times[kPasses / 2];
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// False if the file is no video.
bool measure(const std::string& path, const VideoSettings& settings) {
  const VideoSource source{.files = {read_file(path)}};
  const VideoLimits limits;
  const VideoProcessor processor(settings, limits, {});
  const auto info = read_video_info(source.files.front(), limits);
  const auto plan = processor.inspect(source);
  const auto item = plan ? processor.process(source, *plan) : std::unexpected(plan.error());
  if (!info || !item) {
    fmt::print("{}: {}\n", path, item ? info.error().message : item.error().message);
    return false;
  }
  const double read = median_ms([&] { (void)processor.inspect(source); });
  const double decode = median_ms([&] {
    (void)decode_video(source.files.front(), limits, plan->indices, [](const RgbImage&) {});
  });
  const double all = median_ms([&] { (void)processor.process(source, *plan); });
  fmt::print(
      "{}: {} frames of {}x{} to {} of {}x{}, {} tokens: read {:.1f}, decode {:.0f}, all {:.0f} "
      "ms\n",
      path, info->num_frames, info->width, info->height, plan->indices.size(), plan->resized.width,
      plan->resized.height, (*item)->num_tokens(), read, decode, read + all);
  return true;
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print("usage: bench_videos LEAST_AREA GREATEST_AREA FILE...\n");
    return 2;
  }
  deltaserve::VideoSettings settings;
  settings.frame.min_pixels = std::atoll(argv[1]);
  settings.frame.max_pixels = std::atoll(argv[2]);
  settings.frame.offset = settings.frame.scale = {127.5F, 127.5F, 127.5F};
  bool ok = true;
  for (int i = 3; i < argc; ++i) ok = deltaserve::measure(argv[i], settings) && ok;
  return ok ? 0 : 1;
}
