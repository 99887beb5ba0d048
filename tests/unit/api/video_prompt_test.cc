// The text of videos in prompts against transformers' processor (tests/data/media/video.json, which
// writes v for a placeholder and brackets for the tokens around a run), and which text is the
// template's.
#include "api/video_prompt.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "json/json.h"

namespace deltaserve {
namespace {

json::Value read_golden() {
  std::ifstream stream(std::string(DELTASERVE_TEST_DATA) + "/media/video.json");
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return json::parse(text).value();
}

PromptMedia make_video(std::vector<double> timestamps) {
  PromptMedia media;
  media.video = VideoPlan{};
  media.video->timestamps = std::move(timestamps);
  return media;
}

VideoWording wording(bool keeps_wrapper) {
  return {.pad = "v", .start = "[", .end = "]", .keeps_wrapper = keeps_wrapper};
}

// Spans of the template and of the request take turns, the template's first.
RenderedPrompt prompt_of(const std::vector<std::string>& pieces) {
  RenderedPrompt prompt;
  bool from_template = true;
  for (const std::string& piece : pieces) {
    const size_t begin = prompt.text.size();
    prompt.text += piece;
    prompt.spans.push_back({begin, prompt.text.size(), from_template});
    from_template = !from_template;
  }
  return prompt;
}

std::string repeat_pads(const std::string& text, size_t count) {
  std::string out;
  for (const char c : text) out.append(c == 'v' ? count : 1, c);
  return out;
}

TEST(VideoPrompt, EqualsTransformers) {
  const json::Value golden = read_golden();
  ASSERT_FALSE(golden.at("cases").get_array().empty());
  for (const json::Value& c : golden.at("cases").get_array()) {
    std::vector<double> times;
    for (const json::Value& time : c.at("times").get_array()) {
      times.push_back(time.to_number<double>());
    }
    const auto& grid = c.at("grid").get_array();
    const size_t tokens = grid[1].to_number<size_t>() * grid[2].to_number<size_t>() / 4;
    const std::string expected(c.at("text").get_string());
    for (const bool keeps : {true, false}) {
      const auto written =
          write_video_patches(wording(keeps), {make_video(times)}, prompt_of({"a[v]b"}));
      ASSERT_TRUE(written.has_value()) << written.error().message;
      EXPECT_EQ(repeat_pads(written->text, tokens),
                keeps ? "a[" + expected + "]b" : "a" + expected + "b");
    }
  }
}

TEST(VideoPrompt, OnlyTheTemplatesPlaceholdersAreReplaced) {
  const auto written = write_video_patches(wording(true), {make_video({0.5}), make_video({2.0})},
                                           prompt_of({"<[v]", "[v] typed", "[v]>"}));
  ASSERT_TRUE(written.has_value()) << written.error().message;
  EXPECT_EQ(written->text, "<[<0.5 seconds>[v]][v] typed[<2.0 seconds>[v]]>");
  ASSERT_EQ(written->spans.size(), 3U);
  size_t end = 0;
  for (const RenderedPrompt::Span& span : written->spans) {
    EXPECT_EQ(span.begin, end);
    end = span.end;
  }
  EXPECT_EQ(end, written->text.size());
  EXPECT_FALSE(written->spans[1].from_template);
  EXPECT_EQ(written->text.substr(written->spans[1].begin, 9), "[v] typed");
}

TEST(VideoPrompt, EveryVideoMustBeShownOnce) {
  for (const std::string text : {"none", "[v][v]"}) {
    const auto written = write_video_patches(wording(true), {make_video({0.5})}, prompt_of({text}));
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().param, "messages");
  }
}

}  // namespace
}  // namespace deltaserve
