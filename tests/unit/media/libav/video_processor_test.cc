// From a clip, or from pictures that are its frames, to an item: plan and item agree.
#include "media/video_processor.h"

#include <gtest/gtest.h>

#include "clips.h"
#include "sample_pictures.h"

namespace deltaserve {
namespace {

VideoProcessor make_processor(const VideoLimits& limits = {}) {
  VideoSettings settings;
  settings.frame.min_pixels = 4096;
  settings.frame.max_pixels = 1 << 20;
  settings.frame.offset = settings.frame.scale = {127.5F, 127.5F, 127.5F};
  settings.max_frames = 8;
  return {settings, limits, ImageLimits{}};
}

std::shared_ptr<const VisionItem> process(const VideoProcessor& processor,
                                          const VideoSource& source) {
  const auto plan = processor.inspect(source);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  if (!plan) return nullptr;
  const auto item = processor.process(source, *plan);
  EXPECT_TRUE(item.has_value()) << item.error().message;
  if (!item) return nullptr;
  EXPECT_EQ((*item)->patches.size(), plan->num_bytes);
  EXPECT_EQ((*item)->timestamps, plan->timestamps);
  EXPECT_EQ((*item)->num_tokens(), (*item)->grid_t * plan->tokens_per_patch);
  EXPECT_TRUE((*item)->is_video);
  return *item;
}

// Frame n of a clip has grey of 20 + 10 n on its left: the first value of a temporal patch.
double first_grey(const VisionItem& item, int32_t patch) {
  const size_t bytes = item.patches.size() / static_cast<size_t>(item.grid_t);
  return item.patches[static_cast<size_t>(patch) * bytes];
}

TEST(VideoProcessor, MakesAnItemOfAClip) {
  const auto item = process(make_processor(), {.files = {read_clip("h264.mp4")}});
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->grid_t, 2);
  EXPECT_EQ(item->grid_h, 4);
  EXPECT_EQ(item->grid_w, 6);
  EXPECT_EQ(item->timestamps, (std::vector<double>{0.3, 1.6}));
  EXPECT_NEAR(first_grey(*item, 0), 20.0, 5.0);
  EXPECT_NEAR(first_grey(*item, 1), 150.0, 5.0);  // frame 13
}

TEST(VideoProcessor, TakesAsManyFramesASecondAsAskedFor) {
  const VideoSource source{.files = {read_clip("h264.mp4")}, .fps = 3.5};
  const auto item = process(make_processor(), source);
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->grid_t, 4);  // 7 frames, the last repeated
  EXPECT_EQ(item->timestamps.back(), 1.9);
}

TEST(VideoProcessor, TellsVideosApart) {
  const VideoProcessor processor = make_processor();
  const VideoSource clip{.files = {read_clip("h264.mp4")}};
  const VideoSource denser{.files = clip.files, .fps = 3.5};
  const VideoSource other{.files = {read_clip("trimmed.mp4")}};
  EXPECT_EQ(digest_of(clip), digest_of(VideoSource{.files = {read_clip("h264.mp4")}}));
  EXPECT_NE(digest_of(clip), digest_of(denser));
  EXPECT_NE(digest_of(clip), digest_of(other));
  EXPECT_EQ(process(processor, clip)->content_hash, process(processor, clip)->content_hash);
  EXPECT_NE(process(processor, clip)->content_hash, process(processor, denser)->content_hash);
  EXPECT_NE(process(processor, clip)->content_hash, process(processor, other)->content_hash);
}

TEST(VideoProcessor, TakesFramesAsPictures) {
  const std::vector<uint8_t> picture = sample_pictures()[0].file;
  const VideoSource source{.files = {picture, picture, picture}, .is_frames = true};
  const auto item = process(make_processor(), source);
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->grid_t, 2);
  EXPECT_EQ(item->timestamps, (std::vector<double>{0.25, 1.0}));
  VideoSource slow = source;
  slow.fps = 0.5;
  EXPECT_EQ(process(make_processor(), slow)->timestamps, (std::vector<double>{1.0, 4.0}));
}

TEST(VideoProcessor, RefusesWhatIsNoVideo) {
  const std::vector<uint8_t> picture = sample_pictures()[0].file;
  const VideoProcessor processor = make_processor();
  const auto error = [&](const VideoSource& source) {
    const auto plan = processor.inspect(source);
    return plan ? "" : plan.error().message;
  };
  EXPECT_NE(error({.files = {picture}}).find("no known format"), std::string::npos);
  EXPECT_NE(error({.files = {picture}, .is_frames = true}).find("2 at least"), std::string::npos);
  EXPECT_NE(error({.files = std::vector<std::vector<uint8_t>>(9, picture), .is_frames = true})
                .find("at most 8"),
            std::string::npos);
  EXPECT_NE(error({.files = {picture, read_clip("h264.mp4")}, .is_frames = true}).find("a video"),
            std::string::npos);
}

}  // namespace
}  // namespace deltaserve
