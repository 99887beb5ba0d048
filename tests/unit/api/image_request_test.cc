// Images in requests of all three protocols: placeholders, items, keys of the cache, and refusals.
#include <algorithm>

#include "api_fixture.h"
#include "media/base64.h"

namespace deltaserve {
namespace {

// Six pixels as PNG and one white pixel as GIF.
constexpr std::string_view kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAHUlEQVR4nGM4wSXCdUJEhOsEw69fXKysrL9+/QIAP38H"
    "rjqigzwAAAAASUVORK5CYII=";
constexpr std::string_view kGif = "R0lGODdhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=";
constexpr int32_t kImageToken = 4012;   // of the bundled model
constexpr int64_t kTokensAnImage = 70;  // 3 x 2 pixels become 320 x 224

std::string url(std::string_view base64) {
  return "data:image/png;base64," + std::string(base64);
}

std::string part(std::string_view base64) {
  return R"({"type":"image_url","image_url":{"url":")" + url(base64) + "\"}}";
}

std::string user(const std::string& content) {
  return R"({"messages":[{"role":"user","content":[)" + content + R"(]}],"max_tokens":1})";
}

constexpr std::string_view kText = R"({"type":"text","text":"look"})";

class ImageRequestTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    ImageSettings settings{.min_pixels = 65536, .max_pixels = 65536};
    settings.offset = settings.scale = {127.5F, 127.5F, 127.5F};
    auto input = std::make_shared<MediaInput>();
    input->store = std::make_shared<ImageStore>(ImageProcessor(settings, {}), ImageMemory{});
    input->fetcher = std::make_shared<MediaFetcher>(FetchOptions{});
    input->videos = std::make_shared<VideoProcessor>(VideoSettings{}, VideoLimits{}, ImageLimits{});
    input->max_images = 3;
    input->image_token_id = kImageToken;
    context_->media = std::move(input);
  }

  Request request_of(std::string_view body) const {
    auto prepared = service_.chat(body);
    EXPECT_TRUE(prepared) << prepared.error().message;
    return prepared ? std::move(prepared->job.requests[0]) : Request{};
  }
};

// Each run of placeholders is as long as its item has tokens, and its key stands at the run's
// start.
void expect_consistent(const Request& request, size_t num_images) {
  ASSERT_EQ(request.vision_items.size(), num_images);
  ASSERT_EQ(request.content_keys.size(), num_images);
  const auto& ids = request.prompt_token_ids;
  int64_t placeholders = 0;
  for (size_t i = 0; i < num_images; ++i) {
    const auto start = static_cast<size_t>(request.content_keys[i].position);
    const auto count = static_cast<size_t>(request.vision_items[i]->num_tokens());
    ASSERT_LT(start + count, ids.size());
    EXPECT_NE(ids[start - 1], kImageToken);
    EXPECT_TRUE(std::all_of(&ids[start], &ids[start + count],
                            [](int32_t id) { return id == kImageToken; }));
    EXPECT_NE(ids[start + count], kImageToken);
    placeholders += request.vision_items[i]->num_tokens();
    const auto& [low, high] = request.vision_items[i]->content_hash;
    EXPECT_EQ(request.content_keys[i].hash, (Hash128{low, high}));
  }
  EXPECT_EQ(std::ranges::count(ids, kImageToken), placeholders);
}

TEST_F(ImageRequestTest, ImagesBecomePlaceholdersAndItems) {
  const Request one = request_of(user(std::string(kText) + "," + part(kPng)));
  expect_consistent(one, 1);
  EXPECT_EQ(one.vision_items[0]->num_tokens(), kTokensAnImage);
  const Request two = request_of(user(part(kPng) + "," + std::string(kText) + "," + part(kGif)));
  expect_consistent(two, 2);
  EXPECT_NE(two.content_keys[0].hash, two.content_keys[1].hash);
}

TEST_F(ImageRequestTest, TakesEveryFormOfAPart) {
  const std::string string_form = R"({"type":"image_url","image_url":")" + url(kPng) + "\"}";
  const std::string input_form =
      R"({"type":"input_image","detail":"low","image_url":")" + url(kPng) + "\"}";
  const std::string detailed =
      R"({"type":"image_url","image_url":{"detail":"high","url":")" + url(kPng) + "\"}}";
  const Request expected = request_of(user(part(kPng)));
  const std::string blank_form = R"({"type":"image_url","image_url":" \n)" + url(kPng) + "\\n\"}";
  for (const std::string& form : {string_form, input_form, detailed, blank_form}) {
    const Request request = request_of(user(form));
    expect_consistent(request, 1);
    EXPECT_EQ(request.prompt_token_ids, expected.prompt_token_ids);
    EXPECT_EQ(request.vision_items[0], expected.vision_items[0]);  // kept from the first
  }
}

TEST_F(ImageRequestTest, ToolResultsMayHoldImages) {
  const Request request = request_of(
      R"({"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"","tool_calls":[
          {"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
          {"role":"tool","tool_call_id":"a","content":[)" +
      std::string(kText) + "," + part(kPng) + "]}]}");
  expect_consistent(request, 1);
}

TEST_F(ImageRequestTest, TypedPlaceholdersAreText) {
  const Request request =
      request_of(user(R"({"type":"text","text":"<|image_pad|><|vision_start|>"},)" + part(kPng)));
  expect_consistent(request, 1);
}

TEST_F(ImageRequestTest, TheOtherProtocolsTakeThemToo) {
  const auto responses = service_.responses(
      R"({"input":[{"role":"user","content":[{"type":"input_text","text":"look"},
          {"type":"input_image","image_url":")" +
      url(kPng) + R"("}]},{"type":"function_call","name":"f","call_id":"c","arguments":"{}"},
          {"type":"function_call_output","call_id":"c","output":[{"type":"input_image",
           "image_url":")" +
      url(kGif) + R"("}]}]})");
  ASSERT_TRUE(responses) << responses.error().message;
  expect_consistent(responses->job.requests[0], 2);
  const std::string source =
      R"("source":{"type":"base64","media_type":"image/png, and more","data":")" +
      std::string(kPng) + "\"}";
  const std::string body =
      R"({"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"look"},
          {"type":"image",)" +
      source + R"(}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f",
          "input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t",
          "is_error":true,"content":[{"type":"image",)" +
      source + "}]}]}]}";
  const auto messages = service_.messages(body);
  ASSERT_TRUE(messages) << messages.error().message;
  expect_consistent(messages->job.requests[0], 2);
}

TEST_F(ImageRequestTest, CountsPlaceholdersWithoutDecoding) {
  const auto with = service_.tokenize(user(part(kPng)));
  ASSERT_TRUE(with) << with.error().message;
  const int64_t count = object(*with)["count"].to_number<int64_t>();
  EXPECT_EQ(count, static_cast<int64_t>(request_of(user(part(kPng))).prompt_token_ids.size()));
  EXPECT_GT(count, kTokensAnImage);
}

TEST_F(ImageRequestTest, PlaceholdersCountInTheContext) {
  context_->max_model_len = kTokensAnImage;
  EXPECT_EQ(chat_error(user(part(kPng))).api_code, "context_length_exceeded");
}

TEST_F(ImageRequestTest, RefusesBadImagesByPart) {
  const std::string cut = std::string(kPng.substr(0, 60));
  for (const std::string& bad :
       {std::string("aGVsbG8="), std::string(), cut, std::string("!!!!")}) {
    const Error error = chat_error(user(std::string(kText) + "," + part(bad)));
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << bad;
    EXPECT_EQ(error.param, "messages[0].content[1]") << bad;
    EXPECT_NE(error.message.find("image"), std::string::npos) << bad;
  }
  for (const std::string bad :
       {R"({"type":"image_url"})", R"({"type":"image_url","image_url":7})",
        R"({"type":"image_url","image_url":{"url":"x"}})",
        R"({"type":"image_url","image_url":{"url":"data:,","detail":"odd"}})",
        R"({"type":"input_audio","input_audio":{"data":"x"}})"}) {
    EXPECT_EQ(chat_error(user(bad)).param, "messages[0].content[0]") << bad;
  }
}

TEST_F(ImageRequestTest, OnlyUserAndToolMessagesHoldImages) {
  for (const std::string role : {"system", "assistant"}) {
    const Error error = chat_error(R"({"messages":[{"role":")" + role + R"(","content":[)" +
                                   part(kPng) + R"(]},{"role":"user","content":"hi"}]})");
    EXPECT_EQ(error.param, "messages[0].content[0]") << role;
  }
}

TEST_F(ImageRequestTest, KeepsTheLimitOfImages) {
  const std::string four = part(kPng) + "," + part(kPng) + "," + part(kPng) + "," + part(kPng);
  const Error error = chat_error(user(four));
  EXPECT_EQ(error.param, "messages[0].content[3]");
  EXPECT_NE(error.message.find("at most 3"), std::string::npos);
}

TEST_F(ImageRequestTest, AModelForTextSaysSo) {
  context_->media = nullptr;
  const Error error = chat_error(user(part(kPng)));
  EXPECT_EQ(error.param, "messages[0].content[0]");
  EXPECT_NE(error.message.find("text only"), std::string::npos);
}

}  // namespace
}  // namespace deltaserve
