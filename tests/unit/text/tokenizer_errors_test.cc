#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "small_tokenizer.h"

namespace deltaserve {
namespace {

using ::testing::HasSubstr;

struct BadFile {
  const char* name;
  const char* param;
  std::function<void(json::Object&)> spoil;
};

json::Object& step(json::Object& file, size_t i) {
  return file["pre_tokenizer"].as_object()["pretokenizers"].as_array()[i].as_object();
}

const std::vector<BadFile>& bad_files() {
  static const std::vector<BadFile> files = {
      {"NoNormalizer", "normalizer", [](json::Object& f) { f.erase("normalizer"); }},
      {"OtherNormalizer", "normalizer.type",
       [](json::Object& f) { f["normalizer"].as_object()["type"] = "NFKC"; }},
      {"OneStep", "pre_tokenizer",
       [](json::Object& f) {
         f["pre_tokenizer"].as_object()["pretokenizers"].as_array().resize(1);
       }},
      {"OtherRegex", "pre_tokenizer.pretokenizers[0].pattern.Regex",
       [](json::Object& f) { step(f, 0)["pattern"].as_object()["Regex"] = "\\s+"; }},
      {"StringPattern", "pre_tokenizer.pretokenizers[0].pattern.Regex",
       [](json::Object& f) {
         step(f, 0)["pattern"] = json::Object{{"String", " "}};
       }},
      {"OtherBehavior", "pre_tokenizer.pretokenizers[0]",
       [](json::Object& f) { step(f, 0)["behavior"] = "Removed"; }},
      {"PrefixSpace", "pre_tokenizer.pretokenizers[1]",
       [](json::Object& f) { step(f, 1)["add_prefix_space"] = true; }},
      {"AddingPostProcessor", "post_processor",
       [](json::Object& f) {
         f["post_processor"] =
             json::Object{{"type", "TemplateProcessing"},
                          {"single", json::Array{json::Object{{"SpecialToken", json::Object{}}}}}};
       }},
      {"OtherDecoder", "decoder.type",
       [](json::Object& f) { f["decoder"].as_object()["type"] = "Metaspace"; }},
      {"OtherModel", "model.type",
       [](json::Object& f) { f["model"].as_object()["type"] = "Unigram"; }},
      {"ByteFallback", "model.byte_fallback",
       [](json::Object& f) { f["model"].as_object()["byte_fallback"] = true; }},
      {"Dropout", "model.dropout",
       [](json::Object& f) { f["model"].as_object()["dropout"] = 0.1; }},
      {"UnknownToken", "model.unk_token",
       [](json::Object& f) { f["model"].as_object()["unk_token"] = "<unk>"; }},
      {"NoVocabulary", "model.vocab",
       [](json::Object& f) { f["model"].as_object().erase("vocab"); }},
      {"MissingByte", "model.vocab",
       [](json::Object& f) { f["model"].as_object()["vocab"].as_object().erase("a"); }},
      {"NegativeId", "model.vocab",
       [](json::Object& f) { f["model"].as_object()["vocab"].as_object()["zz"] = -1; }},
      {"HugeId", "model.vocab",
       [](json::Object& f) { f["model"].as_object()["vocab"].as_object()["zz"] = 4000000000; }},
      {"SharedId", "model.vocab",
       [](json::Object& f) { f["model"].as_object()["vocab"].as_object()["zz"] = 97; }},
      {"RuleOfThree", "model.merges[1]",
       [](json::Object& f) { f["model"].as_object()["merges"].as_array().push_back("a b c"); }},
      {"RuleWithoutProduct", "model.merges[1]",
       [](json::Object& f) { f["model"].as_object()["merges"].as_array().push_back("q q"); }},
      {"NumberAsRule", "model.merges[1]",
       [](json::Object& f) { f["model"].as_object()["merges"].as_array().push_back(3); }},
      {"AddedWithoutContent", "added_tokens[0]",
       [](json::Object& f) { f["added_tokens"].as_array()[0].as_object().erase("content"); }},
      {"AddedHugeId", "added_tokens[0]",
       [](json::Object& f) {
         f["added_tokens"].as_array()[0].as_object()["id"] = int64_t{1} << 40;
       }},
      {"AddedTakesVocabularyId", "added_tokens[0]",
       [](json::Object& f) { f["added_tokens"].as_array()[0].as_object()["id"] = 65; }},
      {"AddedUnderAnotherId", "added_tokens[0]",
       [](json::Object& f) { f["added_tokens"].as_array()[0].as_object()["content"] = "he"; }},
      {"AddedTwice", "added_tokens",
       [](json::Object& f) {
         f["added_tokens"].as_array().push_back(added_token_json(301, "<x>", true));
       }},
  };
  return files;
}

class TokenizerErrors : public ::testing::TestWithParam<BadFile> {};

TEST_P(TokenizerErrors, NameTheKey) {
  json::Object file = small_tokenizer_json({{"h", "e"}}, {added_token_json(300, "<x>", false)});
  ASSERT_TRUE(load_json(file).has_value());
  GetParam().spoil(file);
  const auto tokenizer = load_json(file);
  ASSERT_FALSE(tokenizer.has_value());
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(tokenizer.error().param, GetParam().param);
  EXPECT_THAT(tokenizer.error().message, HasSubstr("tokenizer.json"));
  EXPECT_THAT(tokenizer.error().message, HasSubstr(GetParam().param));
}

INSTANTIATE_TEST_SUITE_P(BadFiles, TokenizerErrors, ::testing::ValuesIn(bad_files()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(TokenizerErrors, TextThatIsNotJson) {
  for (const char* text : {"", "{", "[]", "null", "{\"model\": \"\\ud800\"}"}) {
    EXPECT_FALSE(Tokenizer::from_json(text, "").has_value()) << text;
  }
}

TEST(TokenizerErrors, ConfigTokens) {
  const json::Object file = small_tokenizer_json({}, {added_token_json(300, "<x>", false)});
  for (const char* config :
       {R"({"added_tokens_decoder": {"3x": {"content": "<y>"}}})",
        R"({"added_tokens_decoder": {"300": {"content": "<y>"}}})",
        R"({"added_tokens_decoder": {"301": {"content": "<x>"}}})",
        R"({"added_tokens_decoder": {"-1": {"content": "<y>"}}})",
        R"({"added_tokens_decoder": {"301": 5}})", R"({"added_tokens_decoder": [1]})"}) {
    EXPECT_FALSE(load_json(file, config).has_value()) << config;
  }
  EXPECT_TRUE(load_json(file, R"({"model_max_length": 5})").has_value());
}

}  // namespace
}  // namespace deltaserve
