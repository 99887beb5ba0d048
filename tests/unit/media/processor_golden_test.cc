// Preprocessing of pictures that a formula makes, against hashes of what transformers 5.17.0 makes
// of them (tools/goldens/media_patches.py prints the table).
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "media/digest.h"
#include "media/patches.h"
#include "media/resize.h"

namespace deltaserve {
namespace {

struct Case {
  int32_t width;
  int32_t height;
  int64_t min_pixels;
  int64_t max_pixels;
  int32_t grid_h;
  int32_t grid_w;
  Digest digest;  // of the patches as levels
};

constexpr std::array kCases = {
    Case{224, 224, 65536, 16777216, 16, 16, {0x67f02ee24ac0d777, 0x9586adddf03cb73b}},
    Case{80, 48, 65536, 16777216, 14, 22, {0x968168332b3cd9cd, 0xd37db894e0e9e0b5}},
    Case{640, 480, 65536, 16777216, 30, 40, {0x797b35390b3edbdc, 0x46d7c644d7593371}},
    Case{3000, 16, 65536, 16777216, 2, 220, {0x33afea88ee01696d, 0xe3b9ed57d206e576}},
    Case{1, 1, 4096, 65536, 4, 4, {0xa3edd9f51bcd2394, 0x4cddc5a69473db3f}},
    Case{100, 37, 4096, 65536, 4, 8, {0x8e7687c1ffc0fc61, 0x94c87c9d93065a8d}},
    Case{333, 517, 4096, 65536, 18, 12, {0x70855db75e58717e, 0xda92c3ce26577b7c}},
    Case{1200, 900, 4096, 262144, 26, 36, {0x26547211e6edc9e3, 0x17a83ce95144f2b5}},
};

RgbImage picture(int32_t width, int32_t height) {
  RgbImage image{width, height, {}};
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const int32_t mixed = x * 7 + y * 13 + (x ^ y) * 5;
      for (int32_t c = 0; c < 3; ++c) {
        image.pixels.push_back(static_cast<uint8_t>((mixed * (c + 1) + 31 * c) & 255));
      }
    }
  }
  return image;
}

ImageSettings settings_of(const Case& c) {
  ImageSettings settings;
  settings.min_pixels = c.min_pixels;
  settings.max_pixels = c.max_pixels;
  settings.offset = settings.scale = {127.5F, 127.5F, 127.5F};
  return settings;
}

TEST(ProcessorGolden, EqualsTransformers) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::to_string(c.width) + "x" + std::to_string(c.height));
    const ImageSettings settings = settings_of(c);
    const auto size = smart_resize({c.height, c.width}, settings.resize_limits());
    ASSERT_TRUE(size.has_value());
    EXPECT_EQ(size->height, c.grid_h * 16);
    EXPECT_EQ(size->width, c.grid_w * 16);
    const RgbImage image = resize_bicubic(picture(c.width, c.height), *size);
    std::vector<uint8_t> twice(2 * image.pixels.size());  // as transformers repeats a picture
    write_patches(std::vector<const RgbImage*>{&image, &image}, settings, twice.data());
    EXPECT_EQ(digest({twice}), c.digest);
  }
}

// A row for each patch, four patches of a block after each other.
TEST(Patches, OrdersBlocksChannelsAndFrames) {
  ImageSettings settings = settings_of(kCases[0]);
  settings.patch_size = 1;
  RgbImage image{4, 2, {}};
  RgbImage later{4, 2, std::vector<uint8_t>(24, 99)};
  for (uint8_t pixel = 0; pixel < 8; ++pixel) {
    for (uint8_t c = 0; c < 3; ++c) image.pixels.push_back(static_cast<uint8_t>(pixel * 3 + c));
  }
  std::vector<uint8_t> one;
  std::vector<uint8_t> two;
  for (const int pixel : {0, 1, 4, 5, 2, 3, 6, 7}) {
    for (int c = 0; c < 3; ++c) {
      one.push_back(static_cast<uint8_t>(pixel * 3 + c));
      two.insert(two.end(), {one.back(), 99});
    }
  }
  EXPECT_EQ(make_patches(image, settings), one);
  std::vector<uint8_t> both(two.size());
  write_patches(std::vector<const RgbImage*>{&image, &later}, settings, both.data());
  EXPECT_EQ(both, two);
}

}  // namespace
}  // namespace deltaserve
