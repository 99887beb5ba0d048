#include "clips.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace deltaserve {

std::vector<uint8_t> read_clip(const std::string& name) {
  std::ifstream file(std::filesystem::path(DELTASERVE_TEST_DATA) / "media" / name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Away from the borders, where coding mixes neighbours.
double quarter_level(const RgbImage& image, int quarter, int c) {
  const int32_t width = image.width / 2;
  const int32_t height = image.height / 2;
  const int32_t left = quarter % 2 * width;
  const int32_t top = quarter / 2 * height;
  double sum = 0.0;
  int32_t count = 0;
  for (int32_t y = top + height / 4; y < top + height - height / 4; ++y) {
    for (int32_t x = left + width / 4; x < left + width - width / 4; ++x) {
      sum += image.pixels[static_cast<size_t>((y * image.width + x) * 3 + c)];
      ++count;
    }
  }
  return sum / count;
}

}  // namespace deltaserve
