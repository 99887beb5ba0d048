// Where pictures stand in prompts and what positions follow from it; the example of the model's
// documentation, and what is refused.
#include "model/prompt_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deltaserve {
namespace {

using ::testing::HasSubstr;
using Items = std::vector<std::shared_ptr<const VisionItem>>;
using Position = std::array<int32_t, 3>;

constexpr PlaceholderIds kIds = {.image = 50, .video = 51};

std::shared_ptr<const VisionItem> make_item(int32_t frames, int32_t height, int32_t width,
                                            bool is_video = false) {
  auto item = std::make_shared<VisionItem>();
  item->grid_t = frames;
  item->grid_h = 2 * height;
  item->grid_w = 2 * width;
  item->is_video = is_video;
  return item;
}

std::vector<int32_t> tokens(std::initializer_list<std::pair<int32_t, int>> runs) {
  std::vector<int32_t> ids;
  for (const auto& [id, count] : runs) ids.insert(ids.end(), static_cast<size_t>(count), id);
  return ids;
}

TEST(PromptLayout, TextCountsUp) {
  const auto layout = PromptLayout::make(tokens({{1, 5}}), {}, kIds).value();
  EXPECT_EQ(layout.position(0), (Position{0, 0, 0}));
  EXPECT_EQ(layout.position(99), (Position{99, 99, 99}));
  EXPECT_EQ(layout.vision_end(), 0);
}

TEST(PromptLayout, APictureHasRowsAndColumnsAndTextGoesOnBehindItsLongerSide) {
  const auto layout =
      PromptLayout::make(tokens({{1, 4}, {50, 6}, {1, 2}}), Items{make_item(1, 2, 3)}, kIds)
          .value();
  EXPECT_EQ(layout.position(3), (Position{3, 3, 3}));
  EXPECT_EQ(layout.position(4), (Position{4, 4, 4}));
  EXPECT_EQ(layout.position(6), (Position{4, 4, 6}));
  EXPECT_EQ(layout.position(9), (Position{4, 5, 6}));
  EXPECT_EQ(layout.position(10), (Position{7, 7, 7}));
  EXPECT_EQ(layout.position(12), (Position{9, 9, 9}));  // the first token of the answer
  EXPECT_EQ(layout.vision_end(), 10);
}

TEST(PromptLayout, PicturesMayTouchAndFramesOfAVideoAreApart) {
  const Items items = {make_item(1, 1, 2), make_item(1, 1, 1), make_item(2, 1, 2, true)};
  const auto layout =
      PromptLayout::make(tokens({{50, 3}, {1, 1}, {51, 2}, {1, 1}, {51, 2}}), items, kIds).value();
  ASSERT_EQ(layout.runs().size(), 4U);
  EXPECT_EQ(layout.runs()[1].begin, 2);
  EXPECT_EQ(layout.position(2), (Position{2, 2, 2}));
  EXPECT_EQ(layout.position(3), (Position{3, 3, 3}));
  EXPECT_EQ(layout.runs()[3].item, 2);
  EXPECT_EQ(layout.runs()[3].first_row, 2);
  EXPECT_EQ(layout.position(5), (Position{4, 4, 5}));
  EXPECT_EQ(layout.position(6), (Position{6, 6, 6}));
  EXPECT_EQ(layout.position(8), (Position{7, 7, 8}));
}

TEST(PromptLayout, RefusesWhatDoesNotMatch) {
  const Items one = {make_item(1, 2, 3)};
  const auto error = [](const std::vector<int32_t>& ids, const Items& items,
                        const PlaceholderIds& placeholders = kIds) {
    const auto layout = PromptLayout::make(ids, items, placeholders);
    return layout ? std::string() : layout.error().message;
  };
  EXPECT_THAT(error(tokens({{1, 9}}), one), HasSubstr("no placeholder left"));
  EXPECT_THAT(error(tokens({{1, 1}, {50, 5}, {1, 1}}), one), HasSubstr("there are 5"));
  EXPECT_THAT(error(tokens({{50, 7}}), one), HasSubstr("no picture fills"));
  EXPECT_THAT(error(tokens({{51, 6}}), one), HasSubstr("there are 0"));
  EXPECT_THAT(error(tokens({{50, 1}}), {}), HasSubstr("no picture fills"));
  EXPECT_THAT(error(tokens({{1, 1}}), one, {}), HasSubstr("text only"));
  EXPECT_EQ(error(tokens({{50, 6}}), {}, {}), "");
}

}  // namespace
}  // namespace deltaserve
