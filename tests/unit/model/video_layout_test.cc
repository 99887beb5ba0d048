// Positions of prompts with videos against transformers' get_rope_index:
// tests/data/media/video.json, whose prompts are 5 text tokens, each temporal patch with 3 text
// tokens before it, and 4 more.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "json/json.h"
#include "model/prompt_layout.h"

namespace deltaserve {
namespace {

constexpr PlaceholderIds kIds = {.image = 50, .video = 51};
constexpr int32_t kText = 1;

json::Value read_golden() {
  std::ifstream stream(std::string(DELTASERVE_TEST_DATA) + "/media/video.json");
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return json::parse(text).value();
}

std::shared_ptr<const VisionItem> make_item(const json::Array& grid) {
  auto item = std::make_shared<VisionItem>();
  item->grid_t = grid[0].to_number<int32_t>();
  item->grid_h = grid[1].to_number<int32_t>();
  item->grid_w = grid[2].to_number<int32_t>();
  item->is_video = true;
  return item;
}

TEST(VideoLayout, PositionsEqualTransformers) {
  const json::Value golden = read_golden();
  ASSERT_FALSE(golden.at("cases").get_array().empty());
  for (const json::Value& c : golden.at("cases").get_array()) {
    const auto item = make_item(c.at("grid").get_array());
    const auto frame = static_cast<size_t>(item->num_tokens() / item->grid_t);
    std::vector<int32_t> ids(5, kText);
    for (int32_t t = 0; t < item->grid_t; ++t) {
      ids.insert(ids.end(), 3, kText);
      ids.insert(ids.end(), frame, kIds.video);
    }
    ids.insert(ids.end(), 4, kText);
    const auto layout = PromptLayout::make(ids, std::vector{item}, kIds);
    ASSERT_TRUE(layout.has_value()) << layout.error().message;
    const json::Array& expected = c.at("positions").get_array();
    ASSERT_EQ(expected.size(), 3 * ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto position = layout->position(static_cast<int64_t>(i));
      for (size_t axis = 0; axis < 3; ++axis) {
        EXPECT_EQ(position[axis], expected[3 * i + axis].to_number<int32_t>()) << i << " " << axis;
      }
    }
  }
}

}  // namespace
}  // namespace deltaserve
