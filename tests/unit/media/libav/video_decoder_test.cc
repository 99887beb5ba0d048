// Frames of all supported formats, told apart by what they show: see clips.h.
#include "media/video_decoder.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "clips.h"

namespace deltaserve {
namespace {

// Of 255: lossy coding and the way through YUV.
constexpr double kTolerance = 5.0;

std::vector<RgbImage> frames_of(const std::vector<uint8_t>& file, std::vector<int64_t> indices) {
  std::vector<RgbImage> frames;
  const auto decoded =
      decode_video(file, {}, indices, [&](const RgbImage& frame) { frames.push_back(frame); });
  EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
  return frames;
}

std::vector<int64_t> all_indices() {
  std::vector<int64_t> indices(kClipFrames);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// `number`: of the frame in the clip as it was made.
void expect_frame(const RgbImage& frame, int64_t number) {
  ASSERT_EQ(frame.width, kClipWidth);
  ASSERT_EQ(frame.height, kClipHeight);
  const auto grey = static_cast<double>(20 + 10 * number);
  const double colours[4][3] = {
      {grey, grey, grey}, {200, 30, 30}, {grey, grey, grey}, {30, 30, 200}};
  for (int quarter = 0; quarter < 4; ++quarter) {
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(quarter_level(frame, quarter, c), colours[quarter][c], kTolerance)
          << "frame " << number << " quarter " << quarter << " channel " << c;
    }
  }
}

class VideoDecoder : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_TRUE(can_decode_video()); }
};

TEST_P(VideoDecoder, TellsFramesAndRate) {
  const auto info = read_video_info(read_clip(GetParam()), {});
  ASSERT_TRUE(info.has_value()) << info.error().message;
  EXPECT_EQ(info->width, kClipWidth);
  EXPECT_EQ(info->height, kClipHeight);
  EXPECT_EQ(info->num_frames, kClipFrames);
  EXPECT_DOUBLE_EQ(info->fps, kClipRate);
}

TEST_P(VideoDecoder, GivesEveryFrame) {
  const auto frames = frames_of(read_clip(GetParam()), all_indices());
  ASSERT_EQ(std::ssize(frames), kClipFrames);
  for (int64_t i = 0; i < kClipFrames; ++i) expect_frame(frames[static_cast<size_t>(i)], i);
}

TEST_P(VideoDecoder, ChosenFramesAreThoseOfAWholeDecode) {
  const auto file = read_clip(GetParam());
  const auto all = frames_of(file, all_indices());
  for (const std::vector<int64_t>& indices :
       {std::vector<int64_t>{0, 6, 13, 19}, {5}, {19}, {3, 3, 4}, {}}) {
    const auto frames = frames_of(file, indices);
    ASSERT_EQ(frames.size(), indices.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      EXPECT_EQ(frames[i].pixels, all[static_cast<size_t>(indices[i])].pixels) << indices[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Clips, VideoDecoder,
                         testing::Values("h264.mp4", "rotated.mp4", "hevc.mkv", "vp8.webm",
                                         "vp9.webm", "av1.webm", "changing.mkv"),
                         [](const auto& clip) {
                           const std::string name = clip.param;
                           return name.substr(0, name.find('.'));
                         });

// Frames before the cut are needed to decode the others, but are not shown and not counted.
TEST(VideoEdits, BeginsWhereTheEditListDoes) {
  const auto file = read_clip("trimmed.mp4");
  const auto info = read_video_info(file, {});
  ASSERT_TRUE(info.has_value()) << info.error().message;
  ASSERT_EQ(info->num_frames, kClipFrames - 4);
  const auto frames = frames_of(file, {0, 15});
  ASSERT_EQ(frames.size(), 2U);
  expect_frame(frames[0], 4);
  expect_frame(frames[1], 19);
}

}  // namespace
}  // namespace deltaserve
