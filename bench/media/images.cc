// What an image costs a worker thread before the vision tower sees it, step by step, in CPU time of
// one core: header, decoding, resizing, hash and patches.
//   bench_images LEAST_AREA GREATEST_AREA FILE...
// The areas are those of preprocessor_config.json. bench/media/images.py makes the files and sets
// Pillow beside it. The median of several passes counts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "media/digest.h"
#include "media/image_processor.h"
#include "media/patches.h"
#include "media/resize.h"

namespace deltaserve {
namespace {

constexpr int kPasses = 5;  // odd, for the median

double cpu_ms() {
  return static_cast<double>(std::clock()) * 1000.0 / CLOCKS_PER_SEC;
}

double median_ms(const std::function<void()>& step) {
  std::vector<double> times;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double start = cpu_ms();
    step();
    times.push_back(cpu_ms() - start);
  }
  std::ranges::nth_element(times, times.begin() + kPasses / 2);
  return times[kPasses / 2];
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// False if the file is no image.
bool measure(const std::string& path, const ImageSettings& settings) {
  const std::vector<uint8_t> file = read_file(path);
  const ImageProcessor processor(settings, {});
  const auto plan = processor.inspect(file);
  const auto decoded = decode_image(file, {});
  if (!plan || !decoded) {
    fmt::print("{}: {}\n", path, plan ? decoded.error().message : plan.error().message);
    return false;
  }
  const RgbImage resized = resize_bicubic(*decoded, plan->resized);
  const double header = median_ms([&] { (void)processor.inspect(file); });
  const double decode = median_ms([&] { (void)decode_image(file, {}); });
  const double resize = median_ms([&] { (void)resize_bicubic(*decoded, plan->resized); });
  const double hash = median_ms([&] { (void)digest({resized.pixels}); });
  const double patches = median_ms([&] { (void)make_patches(resized, settings); });
  fmt::print(
      "{}: {}x{} to {}x{}, {} tokens: header {:.2f}, decode {:.1f}, resize {:.1f}, hash "
      "{:.1f}, patches {:.1f}, all {:.1f} ms\n",
      path, decoded->width, decoded->height, resized.width, resized.height, plan->num_tokens,
      header, decode, resize, hash, patches, header + decode + resize + hash + patches);
  return true;
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print("usage: bench_images LEAST_AREA GREATEST_AREA FILE...\n");
    return 2;
  }
  deltaserve::ImageSettings settings;
  settings.min_pixels = std::atoll(argv[1]);
  settings.max_pixels = std::atoll(argv[2]);
  settings.offset = settings.scale = {127.5F, 127.5F, 127.5F};
  bool ok = true;
  for (int i = 3; i < argc; ++i) ok = deltaserve::measure(argv[i], settings) && ok;
  return ok ? 0 : 1;
}
