// Masks against the definition: a token is allowed if its bytes lead to a living state.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "grammar/grammar.h"
#include "grammar_test_util.h"

namespace deltaserve {
namespace {

constexpr int32_t kEnd = 0;

// All bytes, words of all group sizes, pieces of JSON, cut characters, twins; 0 ends an answer and
// 1 is a token that no grammar allows.
std::shared_ptr<const GrammarVocabulary> make_vocabulary() {
  std::vector<std::string> tokens = {"", ""};
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* text :
       {"{\"",  "\":",  "\", \"", "\"}",   "},\n  {",  "name",     "age",
        "true", "null", "  ",     "\n\n",  "\xE6\xBC", "\xBC\xA2", "\xE6\xBC\xA2\xE5\xAD\x97",
        "ab",   "ab",   "\\n",    "\\u00", "12",       "3.5",      "a\"",
        "\"a",  "-"}) {
    tokens.emplace_back(text);
  }
  std::mt19937 random(7);
  for (const size_t size : {2, 4, 5, 8, 9, 16, 20, 32, 40, 70}) {
    for (int i = 0; i < 6; ++i) {
      std::string word;
      for (size_t k = 0; k < size; ++k)
        word += k % 5 == 4 ? "\xC3\xA9" : std::string(1, static_cast<char>('a' + random() % 3));
      tokens.push_back(std::move(word));
    }
  }
  return std::make_shared<GrammarVocabulary>(std::move(tokens), std::vector{kEnd});
}

class GrammarMask : public testing::TestWithParam<const char*> {};

TEST_P(GrammarMask, EqualsTheDefinitionAlongRandomWalks) {
  const auto vocabulary = make_vocabulary();
  const auto grammar = compile_grammar(schema(GetParam()), vocabulary).value();
  std::mt19937 random(3);
  int64_t finished = 0;
  for (int walk = 0; walk < 30; ++walk) {
    Grammar::State state = grammar->start();
    for (int step = 0; step < 40; ++step) {
      std::vector<uint64_t> bits(vocabulary->num_words(), ~uint64_t{0});
      grammar->fill_mask(state, bits);
      std::vector<int32_t> allowed;
      for (int32_t id = 0; id < static_cast<int32_t>(vocabulary->size()); ++id) {
        const bool bit = (bits[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0;
        const bool expected =
            id == kEnd ? grammar->may_end(state) : grammar->advance(state, id) != Grammar::kDead;
        ASSERT_EQ(bit, expected) << "token " << id << " '" << vocabulary->bytes(id) << "'";
        if (bit) allowed.push_back(id);
      }
      ASSERT_FALSE(allowed.empty()) << "a dead end";
      const int32_t token = allowed[random() % allowed.size()];
      if (token == kEnd) {
        ++finished;
        break;
      }
      state = grammar->advance(state, token);
    }
  }
  SUCCEED() << finished;
}

INSTANTIATE_TEST_SUITE_P(
    Schemas, GrammarMask,
    testing::Values(
        R"({"type":"string"})", R"({"type":"string","maxLength":37})",
        R"({"type":"string","minLength":3,"maxLength":6})",
        R"({"type":"string","pattern":"^[ab]*$"})",
        R"({"type":"array","items":{"type":"string","maxLength":5}})",
        R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}}})",
        R"({"type":"object","additionalProperties":{"enum":["ab","abc",3.5,null]}})",
        R"({"$ref":"#/$defs/t","$defs":{"t":{"type":"array","items":{"$ref":"#/$defs/t"}}}})",
        "{}"));

TEST(GrammarState, EndsWhereNothingCanFollow) {
  const auto vocabulary = make_vocabulary();
  const auto grammar = compile_grammar(ChoiceSpec{{"ab", "abab"}}, vocabulary).value();
  int32_t ab = 0;
  while (vocabulary->bytes(ab) != "ab") ++ab;
  Grammar::State state = grammar->advance(grammar->start(), ab);
  EXPECT_TRUE(grammar->may_end(state));
  EXPECT_FALSE(grammar->must_end(state));
  EXPECT_EQ(grammar->advance(state, kEnd), state);
  state = grammar->advance(state, ab);
  EXPECT_TRUE(grammar->must_end(state));
  EXPECT_EQ(grammar->advance(state, ab), Grammar::kDead);
  EXPECT_EQ(grammar->advance(grammar->start(), kEnd), Grammar::kDead);
  EXPECT_EQ(grammar->advance(grammar->start(), 1), Grammar::kDead);
  EXPECT_EQ(grammar->advance(grammar->start(), -1), Grammar::kDead);
}

// An end that shows only in what may follow: an intersection with nothing left.
TEST(GrammarState, EndsBehindAnIntersection) {
  const auto vocabulary = make_vocabulary();
  for (const char* text :
       {R"({"type":"integer","multipleOf":2,"minimum":4,"maximum":4})",
        R"({"type":"integer","multipleOf":4,"maximum":7,"exclusiveMinimum":0})"}) {
    const auto grammar = compile_grammar(schema(text), vocabulary).value();
    const Grammar::State state = grammar->advance(grammar->start(), 2 + '4');
    EXPECT_TRUE(grammar->may_end(state));
    EXPECT_TRUE(grammar->must_end(state)) << text;
    EXPECT_FALSE(grammar->must_end(grammar->start()));
  }
}

TEST(GrammarState, OneMaskNeedsOnlySoManyStates) {
  const auto vocabulary = make_vocabulary();
  const auto grammar = compile_grammar(RegexSpec{R"([\s\S]*a[\s\S]{1000})"}, vocabulary).value();
  std::vector<uint64_t> bits(vocabulary->num_words());
  Grammar::State state = grammar->start();
  const auto write = [&] {
    for (int i = 0; i < 100'000; ++i) {
      const size_t before = grammar->num_states();
      grammar->fill_mask(state, bits);
      ASSERT_LE(grammar->num_states(), before + (size_t{2} << 17));
      state = grammar->advance(state, 2 + ((5 * i + i / 3) % 7 < 3 ? 'a' : 'b'));
      ASSERT_NE(state, Grammar::kDead);
    }
  };
  EXPECT_THROW(write(), GrammarTooComplex);
  EXPECT_LT(grammar->memory(), size_t{400} << 20);
}

TEST(GrammarCompile, StopsInTime) {
  const auto vocabulary = make_vocabulary();
  for (
      const char* text :
      {R"({"type":"integer","allOf":[{"multipleOf":9973},{"multipleOf":9967},{"multipleOf":9949}]})",
       R"({"type":"object","patternProperties":{".*a.{30}b":{"type":"integer"},
            ".*c.{30}d":{"type":"string"},".*e.{30}f":true},"additionalProperties":false})"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto grammar = compile_grammar(schema(text), vocabulary);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 3 * kMaxCompileTime);
    ASSERT_FALSE(grammar.has_value());
    EXPECT_NE(grammar.error().message.find("too complex: it"), std::string::npos)
        << grammar.error().message;
  }
}

TEST(GrammarState, LargeCountsNeedFewStates) {
  const auto vocabulary = make_vocabulary();
  const auto grammar =
      compile_grammar(schema(R"({"type":"string","maxLength":1000000000})"), vocabulary).value();
  std::vector<uint64_t> bits(vocabulary->num_words());
  Grammar::State state = grammar->advance(grammar->start(), 2 + '"');
  for (int i = 0; i < 300; ++i) {
    grammar->fill_mask(state, bits);
    state = grammar->advance(state, 2 + 'x');
    ASSERT_NE(state, Grammar::kDead);
  }
  EXPECT_TRUE(grammar->may_end(grammar->advance(state, 2 + '"')));
}

}  // namespace
}  // namespace deltaserve
