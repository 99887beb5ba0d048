// A build without libav says so for every video, whatever is in it.
#include <gtest/gtest.h>

#include "clips.h"
#include "media/video_decoder.h"

namespace deltaserve {
namespace {

TEST(VideoRefusal, NamesTheReason) {
  EXPECT_FALSE(can_decode_video());
  for (const auto& file : {read_clip("h264.mp4"), std::vector<uint8_t>{}}) {
    const auto info = read_video_info(file, {});
    ASSERT_FALSE(info.has_value());
    EXPECT_EQ(info.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(info.error().message.find("built without video"), std::string::npos);
    const auto decoded = decode_video(file, {}, {}, [](const RgbImage&) { FAIL(); });
    ASSERT_FALSE(decoded.has_value());
    EXPECT_EQ(decoded.error().message, info.error().message);
  }
}

}  // namespace
}  // namespace deltaserve
