// What a checkpoint may say about videos, and what is refused by name.
#include "media/video_settings.h"

#include <gtest/gtest.h>

#include <string>

namespace deltaserve {
namespace {

Result<VideoSettings> parse(std::string_view text) {
  return parse_video_settings(json::parse(text).value().get_object());
}

TEST(VideoSettings, MissingKeysAreThoseOfReleasedCheckpoints) {
  const auto settings = parse("{}");
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->frame.min_pixels, 4096);
  EXPECT_EQ(settings->frame.max_pixels, 25'165'824);
  EXPECT_EQ(settings->frame.temporal_patch_size, 2);
  EXPECT_EQ(settings->fps, 2.0);
  EXPECT_EQ(settings->min_frames, 4);
  EXPECT_EQ(settings->max_frames, 768);
  EXPECT_EQ(settings->max_frame_tokens, 0);
}

TEST(VideoSettings, ReadsAllKeys) {
  const auto settings = parse(
      R"({"size":{"shortest_edge":1024,"longest_edge":65536},"fps":1.5,"min_frames":2,"max_frames":64,
          "num_frames":null,"cap_pixels_per_frame":true,"image_mean":[0.5,0.5,0.5],
          "image_std":[0.5,0.5,0.5],"do_sample_frames":true})");
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->frame.min_pixels, 1024);
  EXPECT_EQ(settings->frame.max_pixels, 65536);
  EXPECT_EQ(settings->frame.offset[0], 127.5F);
  EXPECT_EQ(settings->fps, 1.5);
  EXPECT_EQ(settings->min_frames, 2);
  EXPECT_EQ(settings->max_frames, 64);
  EXPECT_EQ(settings->max_frame_tokens, 768);
}

TEST(VideoSettings, RefusesByName) {
  for (const auto& [text, name] :
       {std::pair{R"({"num_frames":8})", "num_frames"},
        {R"({"do_sample_frames":false})", "do_sample"},
        {R"({"fps":0})", "'fps'"},
        {R"({"fps":"fast"})", "fps"},
        {R"({"min_frames":9,"max_frames":8})", "min_frames"},
        {R"({"resample":2})", "resample"},
        {R"({"size":{"shortest_edge":10,"longest_edge":9}})", "least area"}}) {
    const auto settings = parse(text);
    ASSERT_FALSE(settings.has_value()) << text;
    EXPECT_NE(settings.error().message.find(name), std::string::npos) << settings.error().message;
    EXPECT_NE(settings.error().message.find("video_preprocessor_config"), std::string::npos);
  }
}

}  // namespace
}  // namespace deltaserve
