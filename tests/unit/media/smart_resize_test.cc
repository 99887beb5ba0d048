// Sizes worked out from the definition, as released checkpoints are set.
#include "media/smart_resize.h"

#include <gtest/gtest.h>

namespace deltaserve {
namespace {

constexpr ResizeLimits kReleased{32, 65536, 16777216};

ImageSize resized(int32_t height, int32_t width) {
  return smart_resize({height, width}, kReleased).value_or(ImageSize{});
}

TEST(SmartResize, RoundsSidesToMultiples) {
  EXPECT_EQ(resized(1080, 1920), (ImageSize{1088, 1920}));
  EXPECT_EQ(resized(480, 640), (ImageSize{480, 640}));
  EXPECT_EQ(resized(720, 1280), (ImageSize{704, 1280}));  // 22.5 goes to the even 22
}

TEST(SmartResize, GrowsSmallAndShrinksLargePictures) {
  EXPECT_EQ(resized(224, 224), (ImageSize{256, 256}));
  EXPECT_EQ(resized(48, 80), (ImageSize{224, 352}));
  EXPECT_EQ(resized(1, 1), (ImageSize{256, 256}));
  EXPECT_EQ(resized(6000, 8000), (ImageSize{3520, 4704}));
  EXPECT_EQ(resized(4096, 4096), (ImageSize{4096, 4096}));
}

TEST(SmartResize, RefusesStripsAndNothing) {
  EXPECT_EQ(resized(16, 3000), (ImageSize{32, 3520}));
  EXPECT_FALSE(smart_resize({10, 30000}, kReleased).has_value());
  EXPECT_FALSE(smart_resize({30000, 10}, kReleased).has_value());
  EXPECT_FALSE(smart_resize({0, 10}, kReleased).has_value());
}

}  // namespace
}  // namespace deltaserve
