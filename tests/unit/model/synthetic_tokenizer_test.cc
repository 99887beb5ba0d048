// The generated tokenizer: released sizes and ids, and any text survives the round trip.
#include "model/synthetic_tokenizer.h"

#include <gtest/gtest.h>

#include "model/presets.h"
#include "test_checkpoint.h"
#include "text/tokenizer.h"

namespace deltaserve {
namespace {

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& preset,
                                          const std::filesystem::path& directory) {
  const Result<ModelConfig> config = parse_model_config(preset_config(preset, {}).value());
  EXPECT_TRUE(config);
  const Result<void> wrote = write_synthetic_tokenizer(*config, directory);
  EXPECT_TRUE(wrote) << wrote.error().message;
  auto tokenizer = Tokenizer::load(directory);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return std::move(*tokenizer);
}

TEST(SyntheticTokenizer, HasTheReleasedIds) {
  const test::TempDirectory directory("tokenizer_35");
  const auto tokenizer = make_tokenizer("qwen3.5-0.8b", directory.path());
  EXPECT_EQ(tokenizer->vocab_size(), 248077);
  EXPECT_EQ(tokenizer->token_to_id("<|endoftext|>"), 248044);
  EXPECT_EQ(tokenizer->token_to_id("<|im_end|>"), 248046);
  EXPECT_EQ(tokenizer->token_to_id("<|image_pad|>"), 248056);
  EXPECT_EQ(tokenizer->token_to_id("<think>"), 248068);
  EXPECT_EQ(tokenizer->token_to_id("<|audio_pad|>"), 248076);
}

TEST(SyntheticTokenizer, AnyTextSurvives) {
  const test::TempDirectory directory("tokenizer_next");
  const auto tokenizer = make_tokenizer("qwen3-next-80b-a3b", directory.path());
  EXPECT_EQ(tokenizer->token_to_id("<|im_end|>"), 151645);
  EXPECT_EQ(tokenizer->token_to_id("</think>"), 151668);
  const std::string text =
      "The other one, 3.14 \u00e9t\u00e9 \u4f60\u597d \U0001f600\n\ttabs  and\r\n";
  const std::vector<int32_t> ids = tokenizer->encode(text);
  EXPECT_LT(ids.size(), text.size());
  EXPECT_EQ(tokenizer->decode(ids, false), text);
}

}  // namespace
}  // namespace deltaserve
