#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "small_tokenizer.h"

namespace deltaserve {
namespace {

using Ids = std::vector<int32_t>;

// 256 "he", 257 "ll", 258 "hell", 259 " h", 260 the character U+4F60; 300 <x>, 301 <|im_end|>.
class TokenizerTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Tokenizer> load(const std::string& config = {}) {
    const Rules rules = {{"h", "e"}, {"l", "l"},       {"he", "ll"},
                         {" ", "h"}, {"\xE4", "\xBD"}, {"\xE4\xBD", "\xA0"}};
    return load_json(small_tokenizer_json(rules, {added_token_json(300, "<x>", false),
                                                  added_token_json(301, "<|im_end|>", true)}),
                     config)
        .value();
  }
  std::unique_ptr<Tokenizer> tokenizer = load();
};

TEST_F(TokenizerTest, MergesByRankLeftmostFirst) {
  EXPECT_EQ(tokenizer->encode("hello"), (Ids{258, 'o'}));
  EXPECT_EQ(tokenizer->encode("lll"), (Ids{257, 'l'}));
  EXPECT_EQ(tokenizer->encode(" hello"), (Ids{' ', 258, 'o'}));  // "he" ranks before " h"
  EXPECT_EQ(tokenizer->encode("\u4F60\u4F60"), (Ids{261, 261}));
  EXPECT_EQ(tokenizer->encode(""), Ids{});
}

TEST_F(TokenizerTest, LongPiecesEqualShortOnes) {
  const std::string text(100001, 'l');
  Ids expected(50000, 257);
  expected.push_back('l');
  EXPECT_EQ(tokenizer->encode(text), expected);
}

TEST_F(TokenizerTest, AddedTokensAreControlTokensOnlyWhereAllowed) {
  EXPECT_EQ(tokenizer->encode("a<|im_end|>b<x>"), (Ids{'a', 301, 'b', 300}));
  EXPECT_EQ(tokenizer->encode("<x>", false), (Ids{'<', 'x', '>'}));
}

TEST_F(TokenizerTest, SpansMergeOrdinaryTextAcrossBorders) {
  EXPECT_EQ(tokenizer->encode({{"he", true}, {"llo", false}}), (Ids{258, 'o'}));
  EXPECT_EQ(tokenizer->encode({{"e", false}, {"\u0301", true}}), tokenizer->encode("\u00E9"));
  EXPECT_EQ(tokenizer->encode(std::vector<TextSpan>{}), Ids{});
}

TEST_F(TokenizerTest, SpansKeepControlTokensOutOfUserText) {
  EXPECT_EQ(tokenizer->encode({{"<x>", true}, {"<x>", false}, {"<x>", true}}),
            (Ids{300, '<', 'x', '>', 300}));
  EXPECT_EQ(tokenizer->encode({{"<", true}, {"x>", false}}), (Ids{'<', 'x', '>'}));
  EXPECT_EQ(tokenizer->encode({{"<x", true}, {">", true}}), (Ids{'<', 'x', '>'}));
}

TEST_F(TokenizerTest, InvalidUtf8IsReplaced) {
  EXPECT_EQ(tokenizer->encode("a\xFF"), tokenizer->encode("a\uFFFD"));
  EXPECT_EQ(tokenizer->encode({{"\xE4\xBD", true}, {"\xA0", false}}),
            tokenizer->encode("\uFFFD\uFFFD"));
}

TEST_F(TokenizerTest, DecodesAndSkipsSpecialTokens) {
  EXPECT_EQ(tokenizer->decode({258, 'o', 301, 300}, false), "hello<|im_end|><x>");
  EXPECT_EQ(tokenizer->decode({258, 'o', 301, 300}, true), "hello<x>");
  EXPECT_EQ(tokenizer->decode({260, 'a'}, false), "\uFFFDa");
  EXPECT_EQ(tokenizer->decode({-1, 299, 302, 1 << 30, 'a'}, true), "a");
}

TEST_F(TokenizerTest, LooksUpTokens) {
  EXPECT_EQ(tokenizer->token_to_id("<x>"), 300);
  EXPECT_EQ(tokenizer->token_to_id("\u0120h"), 259);  // as the file writes " h"
  EXPECT_EQ(tokenizer->token_to_id("nothing"), std::nullopt);
  EXPECT_EQ(tokenizer->token_to_id("\xFF"), std::nullopt);
  EXPECT_EQ(tokenizer->vocab_size(), 302);
  EXPECT_TRUE(tokenizer->is_special(301));
  EXPECT_FALSE(tokenizer->is_special(300));
  EXPECT_TRUE(tokenizer->is_added(300));
  EXPECT_FALSE(tokenizer->is_added(258));
  EXPECT_FALSE(tokenizer->is_added(-5));
  EXPECT_EQ(tokenizer->token_bytes(259), " h");
  EXPECT_EQ(tokenizer->token_bytes(299), "");
}

TEST_F(TokenizerTest, ConfigAddsTokens) {
  const auto more = load(R"({"added_tokens_decoder": {
      "301": {"content": "<|im_end|>", "special": true, "normalized": false},
      "302": {"content": "<tts_pad>", "special": false, "normalized": false}}})");
  EXPECT_EQ(more->encode("<tts_pad>"), Ids{302});
  EXPECT_EQ(more->vocab_size(), 303);
  EXPECT_EQ(more->added_tokens().size(), 3U);
}

// As in `tokenizers`: the first of a run takes in all of it, and nothing is left for the others.
TEST(TokenizerStrips, AMatchThatAnEarlierOneTookInIsNone) {
  json::Object newline = added_token_json(300, "\n", false);
  newline["rstrip"] = true;
  json::Object space = added_token_json(301, " ", false);
  space["lstrip"] = true;
  const auto rightwards = load_json(small_tokenizer_json({}, {newline})).value();
  EXPECT_EQ(rightwards->encode("a\n\n\nb"), (Ids{'a', 300, 300, 300, 'b'}));
  newline["lstrip"] = true;
  const auto both = load_json(small_tokenizer_json({}, {newline, space})).value();
  EXPECT_EQ(both->encode("a\n\n\nb\n"), (Ids{'a', 300, 'b', 300}));
  EXPECT_EQ(both->encode("a\n  b"), (Ids{'a', 300, 'b'}));
  EXPECT_EQ(both->encode("a  b"), (Ids{'a', 301, 301, 'b'}));
}

TEST_F(TokenizerTest, EncodesFromManyThreads) {
  const std::string text = "hello <x> \u4F60 he said 'll";
  const Ids expected = tokenizer->encode(text);
  std::vector<int> equal(4);
  std::vector<std::thread> threads;
  for (int& count : equal) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) count += tokenizer->encode(text) == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 500));
}

TEST(TokenizerIgnoreMerges, WholePiecesComeFromTheVocabulary) {
  json::Object file = small_tokenizer_json({{"h", "e"}});
  json::Object& model = file["model"].as_object();
  model["vocab"].as_object()["hey"] = 257;
  EXPECT_EQ(load_json(file).value()->encode("hey"), (Ids{256, 'y'}));
  model["ignore_merges"] = true;
  EXPECT_EQ(load_json(file).value()->encode("hey heyo"), (Ids{257, ' ', 256, 'y', 'o'}));
}

TEST(TokenizerLoad, ReadsADirectory) {
  const auto tokenizer = Tokenizer::load(DELTASERVE_SOURCE_DIR "/models/tiny");
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  const std::string text = "Hello, 世界! <|im_start|>user\n1 + 1 = 2<|im_end|>\n";
  EXPECT_EQ((*tokenizer)->decode((*tokenizer)->encode(text), false), text);
  EXPECT_EQ((*tokenizer)->decode((*tokenizer)->encode(text, false), true), text);
}

TEST(TokenizerLoad, SaysWhichFileIsMissing) {
  const auto tokenizer = Tokenizer::load(DELTASERVE_SOURCE_DIR "/src");
  ASSERT_FALSE(tokenizer.has_value());
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kNotFound);
  EXPECT_NE(tokenizer.error().message.find("tokenizer.json"), std::string::npos);
}

}  // namespace
}  // namespace deltaserve
