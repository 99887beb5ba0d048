// Frames, times, sizes and patches of videos against what transformers 5.24.0 makes of them
// (tools/goldens/media_video.py writes the file).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "json/json.h"
#include "media/digest.h"
#include "media/patches.h"
#include "media/resize.h"
#include "media/video_processor.h"
#include "media/video_sampling.h"

namespace deltaserve {
namespace {

const json::Object& golden() {
  static const json::Value file = [] {
    std::ifstream stream(std::string(DELTASERVE_TEST_DATA) + "/media/video.json");
    const std::string text{std::istreambuf_iterator<char>(stream),
                           std::istreambuf_iterator<char>()};
    return json::parse(text).value();
  }();
  return file.get_object();
}

template <typename T>
T number(const json::Value& value, std::string_view key) {
  return value.at(key).to_number<T>();
}

template <typename T>
std::vector<T> numbers(const json::Value& list) {
  std::vector<T> out;
  for (const json::Value& value : list.get_array()) out.push_back(value.to_number<T>());
  return out;
}

VideoSettings settings_of(const json::Value& golden_case) {
  VideoSettings settings;
  settings.frame.min_pixels = number<int64_t>(golden_case, "min_pixels");
  settings.frame.max_pixels = number<int64_t>(golden_case, "max_pixels");
  settings.frame.offset = settings.frame.scale = {127.5F, 127.5F, 127.5F};
  settings.max_frame_tokens = number<int32_t>(golden_case, "max_frame_tokens");
  return settings;
}

RgbImage make_frame(int32_t width, int32_t height, int64_t index) {
  RgbImage image{width, height, {}};
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const int64_t mixed = x * 7 + y * 13 + (x ^ y) * 5 + index * 37;
      for (int32_t c = 0; c < 3; ++c) {
        image.pixels.push_back(static_cast<uint8_t>((mixed * (c + 1) + 31 * c) & 255));
      }
    }
  }
  return image;
}

// Of all temporal patches, as levels 0 to 255.
std::vector<uint8_t> levels_of(const json::Value& golden_case, const std::vector<int64_t>& indices,
                               ImageSize size, const ImageSettings& settings) {
  std::vector<uint8_t> levels;
  for (size_t first = 0; first < indices.size(); first += 2) {
    std::vector<RgbImage> pair;
    for (const size_t i : {first, std::min(first + 1, indices.size() - 1)}) {
      pair.push_back(resize_bicubic(make_frame(number<int32_t>(golden_case, "width"),
                                               number<int32_t>(golden_case, "height"), indices[i]),
                                    size));
    }
    std::vector<uint8_t> patches(2 * pair[0].pixels.size());
    write_patches(std::vector<const RgbImage*>{pair.data(), &pair[1]}, settings, patches.data());
    levels.insert(levels.end(), patches.begin(), patches.end());
  }
  return levels;
}

void expect_levels(const json::Value& golden_case, const std::vector<uint8_t>& levels) {
  if (const json::Value* hex = golden_case.get_object().if_contains("digest")) {
    const Digest digest_of_levels = digest({levels});
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(std::stoull(std::string(hex->at(i).get_string()), nullptr, 16),
                digest_of_levels[i]);
    }
    return;
  }
  const auto stride = number<size_t>(json::Value(golden()), "stride");
  const auto expected = numbers<int32_t>(golden_case.at("levels"));
  ASSERT_EQ(expected.size(), (levels.size() + stride - 1) / stride);
  int32_t differing = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(expected[i], levels[i * stride], 1) << i;
    differing += expected[i] != levels[i * stride];
  }
  EXPECT_LT(differing * 10, std::ssize(expected));  // here and there
}

TEST(VideoGolden, EqualsTransformers) {
  for (const json::Value& c : golden().at("cases").get_array()) {
    SCOPED_TRACE(number<int32_t>(c, "width"));
    const VideoSettings settings = settings_of(c);
    const auto fps = number<double>(c, "fps");
    const auto indices = sample_frames(number<int64_t>(c, "frames"), fps, settings);
    EXPECT_EQ(indices, numbers<int64_t>(c.at("indices")));
    EXPECT_EQ(patch_times(indices, fps, 2), numbers<double>(c.at("times")));
    const auto size = video_resize(
        std::ssize(indices), {number<int32_t>(c, "height"), number<int32_t>(c, "width")}, settings);
    ASSERT_TRUE(size.has_value()) << size.error().message;
    const auto grid = numbers<int32_t>(c.at("grid"));
    EXPECT_EQ(size->height, grid[1] * 16);
    EXPECT_EQ(size->width, grid[2] * 16);
    expect_levels(c, levels_of(c, indices, *size, settings.frame));
  }
}

TEST(VideoGolden, TakesTheSameFrames) {
  for (const json::Value& c : golden().at("samples").get_array()) {
    const auto frames = number<int64_t>(c, "frames");
    const auto fps = number<double>(c, "fps");
    EXPECT_EQ(sample_frames(frames, fps, {}), numbers<int64_t>(c.at("indices")))
        << frames << " at " << fps;
  }
}

TEST(VideoGolden, ResizesToTheSameSizes) {
  VideoSettings settings;
  settings.frame.min_pixels = 4096;
  settings.frame.max_pixels = 25'165'824;
  for (const json::Value& c : golden().at("sizes").get_array()) {
    const ImageSize size{number<int32_t>(c, "height"), number<int32_t>(c, "width")};
    const auto resized = video_resize(number<int64_t>(c, "frames"), size, settings);
    ASSERT_EQ(resized.has_value(), !c.at("resized").is_null()) << size.width << "x" << size.height;
    if (!resized) continue;
    const auto expected = numbers<int32_t>(c.at("resized"));
    EXPECT_EQ(*resized, (ImageSize{expected[0], expected[1]}));
  }
}

}  // namespace
}  // namespace deltaserve
