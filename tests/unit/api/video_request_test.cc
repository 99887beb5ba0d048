// Videos in chat requests, sent as pictures of their frames so that no decoder of video files is
// needed: how they stand in the prompt, and what is refused.
#include <algorithm>

#include "api_fixture.h"

namespace deltaserve {
namespace {

// Six pixels as PNG.
constexpr std::string_view kFrame =
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAHUlEQVR4nGM4wSXCdUJEhOsEw69fXKysrL9+/QIAP38H"
    "rjqigzwAAAAASUVORK5CYII=";
constexpr std::string_view kOther =
    "data:image/gif;base64,R0lGODdhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=";
constexpr int32_t kImageToken = 4012;  // of the bundled model
constexpr int32_t kVideoToken = 4013;

std::string frames(int count, std::string_view frame = kFrame) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i > 0 ? ",\"" : "\"") + std::string(frame) + "\"";
  return "[" + list + "]";
}

std::string video(int count, std::string_view more = "") {
  return R"({"type":"video","video":)" + frames(count) + std::string(more) + "}";
}

std::string image() {
  return R"({"type":"image_url","image_url":")" + std::string(kFrame) + "\"}";
}

std::string user(const std::string& content) {
  return R"({"messages":[{"role":"user","content":[)" + content + R"(]}],"max_tokens":1})";
}

class VideoRequestTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    ImageSettings image_settings{.min_pixels = 4096, .max_pixels = 4096};
    image_settings.offset = image_settings.scale = {127.5F, 127.5F, 127.5F};
    VideoSettings settings;
    settings.frame = image_settings;
    settings.frame.max_pixels = 1 << 16;
    input_ = std::make_shared<MediaInput>();
    input_->store = std::make_shared<ImageStore>(ImageProcessor(image_settings, {}), ImageMemory{});
    input_->videos = std::make_shared<VideoProcessor>(settings, VideoLimits{}, ImageLimits{});
    FetchOptions fetch;
    input_->fetcher = std::make_shared<MediaFetcher>(fetch);
    fetch.noun = "video";
    input_->video_fetcher = std::make_shared<MediaFetcher>(fetch);
    input_->wording = {"<|video_pad|>", "<|vision_start|>", "<|vision_end|>", true};
    input_->max_images = 3;
    input_->max_videos = 2;
    input_->image_token_id = kImageToken;
    input_->video_token_id = kVideoToken;
    context_->media = input_;
  }

  Request request_of(std::string_view body) const {
    auto prepared = service_.chat(body);
    EXPECT_TRUE(prepared) << prepared.error().message;
    return prepared ? std::move(prepared->job.requests[0]) : Request{};
  }

  // The prompt with one letter v a placeholder.
  std::string shown(std::string_view body) const {
    std::string text = prompt_of(body);
    constexpr std::string_view kPad = "<|video_pad|>";
    for (size_t at = text.find(kPad); at != text.npos; at = text.find(kPad, at)) {
      text.replace(at, kPad.size(), "v");
    }
    return text;
  }

  std::shared_ptr<MediaInput> input_;
};

// 3 x 2 pixels are enlarged to 48 x 32 and rounded to 64 x 32: two tokens.
TEST_F(VideoRequestTest, EachPairOfFramesHasItsTime) {
  const std::string text = shown(user(R"({"type":"text","text":"look"},)" + video(5)));
  EXPECT_NE(text.find("look<|vision_start|>"
                      "<0.2 seconds><|vision_start|>vv<|vision_end|>"
                      "<1.2 seconds><|vision_start|>vv<|vision_end|>"
                      "<2.0 seconds><|vision_start|>vv<|vision_end|><|vision_end|>"),
            std::string::npos)
      << text;
}

TEST_F(VideoRequestTest, TheOuterWrapperMayBeDropped) {
  input_->wording.keeps_wrapper = false;
  const std::string text = shown(user(R"({"type":"text","text":"look"},)" + video(2)));
  EXPECT_NE(text.find("look<0.2 seconds><|vision_start|>vv<|vision_end|><|im_end|>"),
            std::string::npos)
      << text;
}

TEST_F(VideoRequestTest, TheRateOfFramesSaysWhenTheyWere) {
  const std::string text = shown(user(video(2, R"(,"fps":0.1)")));
  EXPECT_NE(text.find("<5.0 seconds>"), std::string::npos) << text;
}

TEST_F(VideoRequestTest, ItemsAndKeysStandAtTheirFirstPlaceholder) {
  const Request request = request_of(user(video(4) + "," + image() + "," + video(2)));
  ASSERT_EQ(request.vision_items.size(), 3U);
  ASSERT_EQ(request.content_keys.size(), 3U);
  const auto& ids = request.prompt_token_ids;
  const auto first = std::ranges::find(ids, kVideoToken) - ids.begin();
  EXPECT_EQ(request.content_keys[0].position, first);
  EXPECT_EQ(request.content_keys[1].position, std::ranges::find(ids, kImageToken) - ids.begin());
  EXPECT_EQ(ids[static_cast<size_t>(request.content_keys[2].position)], kVideoToken);
  EXPECT_TRUE(request.vision_items[0]->is_video);
  EXPECT_FALSE(request.vision_items[1]->is_video);
  EXPECT_EQ(request.vision_items[0]->grid_t, 2);
  EXPECT_EQ(request.vision_items[2]->grid_t, 1);
  EXPECT_EQ(std::ranges::count(ids, kVideoToken),
            request.vision_items[0]->num_tokens() + request.vision_items[2]->num_tokens());
  for (size_t i = 0; i < 3; ++i) {
    const auto& [low, high] = request.vision_items[i]->content_hash;
    EXPECT_EQ(request.content_keys[i].hash, (Hash128{low, high}));
  }
}

TEST_F(VideoRequestTest, TheSameVideoIsDecodedOnce) {
  const Request first = request_of(user(video(4)));
  EXPECT_EQ(request_of(user(video(4))).vision_items[0], first.vision_items[0]);
  const Request other = request_of(user(video(6)));
  EXPECT_NE(other.content_keys[0].hash, first.content_keys[0].hash);
}

TEST_F(VideoRequestTest, ToolResultsMayHoldVideos) {
  const Request request = request_of(
      R"({"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"","tool_calls":[
          {"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
          {"role":"tool","tool_call_id":"a","content":[)" +
      video(2) + "]}]}");
  EXPECT_EQ(request.vision_items.size(), 1U);
}

TEST_F(VideoRequestTest, TypedPlaceholdersAreText) {
  const Request request = request_of(
      user(R"({"type":"text","text":"<|vision_start|><|video_pad|><|vision_end|>"},)" + video(2)));
  ASSERT_EQ(request.vision_items.size(), 1U);
  EXPECT_EQ(std::ranges::count(request.prompt_token_ids, kVideoToken), 2);
}

TEST_F(VideoRequestTest, CountsPlaceholdersWithoutDecoding) {
  const auto with = service_.tokenize(user(video(4)));
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_EQ(object(*with)["count"].to_number<size_t>(),
            request_of(user(video(4))).prompt_token_ids.size());
}

TEST_F(VideoRequestTest, RefusesByPart) {
  const std::string other = R"({"type":"video","video":[")" + std::string(kFrame) + "\",\"" +
                            std::string(kOther) + "\"]}";
  for (const auto& [part, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"({"type":"video_url"})", "video without a URL"},
           {R"({"type":"video_url","video_url":7})", "video without a URL"},
           {R"({"type":"video_url","video_url":{"link":"x"}})", "video without a URL"},
           {R"({"type":"video","video":[]})", "video without a URL"},
           {R"({"type":"video","video":[1]})", "video without a URL"},
           {R"({"type":"video_url","video_url":"file:///etc/passwd"})", "kind 'file:'"},
           {R"({"type":"video_url","video_url":{"url":"http://127.0.0.1/a.mp4"}})",
            "video's host '127.0.0.1' is not among"},
           {R"({"type":"video_url","video_url":"data:video/mp4;base64,"})", "data URL is empty"},
           {R"({"type":"video_url","video_url":"data:video/mp4;base64,aGVsbG8="})", "The video"},
           {video(1), "2 at least"},
           {other, "frames of different sizes"}}) {
    const Error error = chat_error(user(R"({"type":"text","text":"x"},)" + part));
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << part;
    EXPECT_EQ(error.param, "messages[0].content[1]") << error.message;
    EXPECT_NE(error.message.find(reason), std::string::npos) << error.message;
  }
  EXPECT_EQ(chat_error(user(video(2, R"(,"fps":0)"))).param, "messages[0].content[0].fps");
}

TEST_F(VideoRequestTest, KeepsTheLimitOfVideos) {
  const Error error = chat_error(user(video(2) + "," + video(2) + "," + video(2)));
  EXPECT_EQ(error.param, "messages[0].content[2]");
  EXPECT_NE(error.message.find("3 videos: at most 2"), std::string::npos) << error.message;
}

TEST_F(VideoRequestTest, OnlyUserAndToolMessagesHoldVideos) {
  const Error error = chat_error(R"({"messages":[{"role":"system","content":[)" + video(2) +
                                 R"(]},{"role":"user","content":"hi"}]})");
  EXPECT_EQ(error.param, "messages[0].content[0]");
  EXPECT_NE(error.message.find("is a video"), std::string::npos) << error.message;
}

TEST_F(VideoRequestTest, AModelForTextSaysSo) {
  context_->media = nullptr;
  const Error error = chat_error(user(video(2)));
  EXPECT_EQ(error.param, "messages[0].content[0]");
  EXPECT_NE(error.message.find("is a video, but this model takes text only"), std::string::npos);
}

}  // namespace
}  // namespace deltaserve
