// What a preprocessor_config.json may say.
#include "media/image_settings.h"

#include <gtest/gtest.h>

#include <string>

namespace deltaserve {
namespace {

Result<ImageSettings> parsed(std::string_view text) {
  return parse_image_settings(json::parse(text)->get_object());
}

std::string error_of(std::string_view text) {
  const auto settings = parsed(text);
  return settings ? "" : settings.error().message;
}

TEST(ImageSettings, ReadsAReleasedFile) {
  const auto settings = parsed(R"({"size": {"longest_edge": 16777216, "shortest_edge": 65536},
      "patch_size": 16, "temporal_patch_size": 2, "merge_size": 2, "image_mean": [0.5, 0.5, 0.5],
      "image_std": [0.5, 0.5, 0.5], "processor_class": "Qwen3VLProcessor"})");
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->resize_limits().factor, 32);
  EXPECT_EQ(settings->min_pixels, 65536);
  EXPECT_EQ(settings->max_pixels, 16777216);
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(settings->offset[c], 127.5F);
    EXPECT_EQ(settings->scale[c], 127.5F);
  }
}

TEST(ImageSettings, TakesTheOlderNamesOfAreas) {
  const auto settings = parsed(R"({"min_pixels": 3136, "max_pixels": 12845056})");
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(settings->min_pixels, 3136);
  EXPECT_EQ(settings->max_pixels, 12845056);
}

TEST(ImageSettings, RefusesWhatItWouldDoWrong) {
  EXPECT_NE(error_of(R"({"resample": 2})").find("resample"), std::string::npos);
  EXPECT_NE(error_of(R"({"do_resize": false})").find("do_resize"), std::string::npos);
  EXPECT_NE(error_of(R"({"image_mean": [0.5]})").find("image_mean"), std::string::npos);
  EXPECT_NE(error_of(R"({"image_std": [0.5, 0, 1]})").find("image_std"), std::string::npos);
  EXPECT_NE(error_of(R"({"rescale_factor": 0})").find("rescale_factor"), std::string::npos);
  EXPECT_NE(error_of(R"({"patch_size": "16"})").find("patch_size"), std::string::npos);
  EXPECT_NE(error_of(R"({"size": {"shortest_edge": 9, "longest_edge": 8}})"), "");
  EXPECT_NE(error_of(R"({"size": 224})").find("size"), std::string::npos);
}

}  // namespace
}  // namespace deltaserve
