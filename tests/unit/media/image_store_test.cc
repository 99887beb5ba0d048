// Keeping of pictures and the limit on all that are alive.
#include "media/image_store.h"

#include <gtest/gtest.h>

#include "sample_pictures.h"

namespace deltaserve {
namespace {

// Pictures of 3 x 2 pixels become 96 x 64: 24 patches, 18 KiB.
constexpr size_t kItemBytes = size_t{96} * 64 * 3;

ImageStore make_store(size_t live, size_t cached) {
  ImageSettings settings{.min_pixels = 4096, .max_pixels = 4096};
  settings.offset = settings.scale = {127.5F, 127.5F, 127.5F};
  return {ImageProcessor(settings, {}), ImageMemory{live, cached}};
}

// Two files of one picture (PNG, WebP without loss) and one of another.
const std::vector<SamplePicture>& samples() {
  static const std::vector<SamplePicture> pictures = sample_pictures();
  return pictures;
}

TEST(ImageStore, GivesTheSameItemForTheSameFile) {
  ImageStore store = make_store(10 * kItemBytes, 10 * kItemBytes);
  const auto first = store.load(samples()[0].file);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  const auto second = store.load(samples()[0].file);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(store.live_bytes(), kItemBytes);
}

TEST(ImageStore, NamesContentAndNotFiles) {
  ImageStore store = make_store(10 * kItemBytes, 0);
  const auto png = store.load(samples()[0].file);
  const auto webp = store.load(samples()[5].file);
  const auto other = store.load(samples()[2].file);
  ASSERT_TRUE(png && webp && other);
  EXPECT_EQ((*png)->content_hash, (*webp)->content_hash);
  EXPECT_NE((*png)->content_hash, (*other)->content_hash);
}

TEST(ImageStore, GivesMemoryBackWithTheLastOwner) {
  ImageStore store = make_store(kItemBytes, 0);
  {
    const auto held = store.load(samples()[0].file);
    ASSERT_TRUE(held.has_value());
    const auto refused = store.load(samples()[2].file);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  }
  EXPECT_EQ(store.live_bytes(), 0U);
  EXPECT_TRUE(store.load(samples()[2].file).has_value());
}

TEST(ImageStore, DropsWhatNobodyUsesBeforeItRefuses) {
  ImageStore store = make_store(kItemBytes, kItemBytes);
  ASSERT_TRUE(store.load(samples()[0].file).has_value());
  EXPECT_EQ(store.live_bytes(), kItemBytes);  // kept
  EXPECT_TRUE(store.load(samples()[2].file).has_value());
  EXPECT_EQ(store.live_bytes(), kItemBytes);
}

TEST(ImageStore, RefusesForGoodWhatNeverFits) {
  ImageStore store = make_store(kItemBytes - 1, 0);
  const auto item = store.load(samples()[0].file);
  ASSERT_FALSE(item.has_value());
  EXPECT_EQ(item.error().code, ErrorCode::kInvalidArgument);
}

TEST(ImageStore, ItemsMayOutliveIt) {
  std::shared_ptr<const VisionItem> item;
  {
    ImageStore store = make_store(kItemBytes, kItemBytes);
    item = store.load(samples()[0].file).value_or(nullptr);
  }
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->patches.size(), kItemBytes);
}

}  // namespace
}  // namespace deltaserve
