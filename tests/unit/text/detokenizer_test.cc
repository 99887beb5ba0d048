#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "small_tokenizer.h"
#include "text/utf8.h"

namespace deltaserve {
namespace {

class DetokenizerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> tokenizer =
      load_json(small_tokenizer_json({{"\xF0", "\x9F"}, {"\x98", "\x80"}, {"a", "\xE4"}},
                                     {added_token_json(300, "<x>", true)}))
          .value();
};

TEST_F(DetokenizerTest, HoldsBackUntilACharacterIsWhole) {
  Detokenizer detokenizer(*tokenizer, false);
  EXPECT_EQ(detokenizer.push(256), "");
  EXPECT_EQ(detokenizer.push(257), "\U0001F600");
  EXPECT_EQ(detokenizer.push(258), "a");
  EXPECT_EQ(detokenizer.push('b'), "\uFFFDb");
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST_F(DetokenizerTest, FinishReleasesAnUnfinishedCharacter) {
  Detokenizer detokenizer(*tokenizer, false);
  EXPECT_EQ(detokenizer.push(256), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD");
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST_F(DetokenizerTest, SkipsSpecialTokens) {
  Detokenizer skipping(*tokenizer, true);
  EXPECT_EQ(skipping.push(300), "");
  Detokenizer keeping(*tokenizer, false);
  EXPECT_EQ(keeping.push(300), "<x>");
}

TEST_F(DetokenizerTest, PiecesAddUpToDecodeForAnyIds) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int32_t> ids(random() % 12);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % 310) - 3;
    for (const bool skip : {false, true}) {
      Detokenizer detokenizer(*tokenizer, skip);
      std::string streamed;
      for (const int32_t id : ids) {
        const std::string piece = detokenizer.push(id);
        EXPECT_TRUE(utf8::is_valid(piece));
        streamed += piece;
      }
      streamed += detokenizer.finish();
      ASSERT_EQ(streamed, tokenizer->decode(ids, skip));
    }
  }
}

}  // namespace
}  // namespace deltaserve
