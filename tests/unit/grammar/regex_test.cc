// Patterns: what tools/oracles/grammar_compare.py cannot show is what is refused, and how.
#include "grammar/regex.h"

#include <fmt/format.h>

#include "grammar_test_util.h"

namespace deltaserve {
namespace {

TEST(GrammarRegex, MatchesWholeAnswers) {
  EXPECT_TRUE(accepts(RegexSpec{"[a-c]{2,3}"}, "abc"));
  EXPECT_FALSE(accepts(RegexSpec{"[a-c]{2,3}"}, "abcd"));
  EXPECT_TRUE(accepts(RegexSpec{"^a|b$"}, "b"));
  EXPECT_TRUE(accepts(RegexSpec{"a{2}{3}"}, "aaaaaa"));
  EXPECT_TRUE(accepts(RegexSpec{"{x}"}, "{x}"));
}

TEST(GrammarRegex, KnowsUnicode) {
  EXPECT_TRUE(accepts(RegexSpec{"\\p{Lu}\\p{Ll}+"}, "\xC3\x89t\xC3\xA9"));
  EXPECT_TRUE(accepts(RegexSpec{"\\u{1F600}|\\uD83D\\uDE01"}, "\xF0\x9F\x98\x81"));
  EXPECT_TRUE(accepts(RegexSpec{"[\xE4\xB8\x80-\xE9\xBE\xA5]"}, "\xE6\xBC\xA2"));
  std::string often;
  for (int i = 0; i < 600; ++i) often += "\\p{Lu}";
  EXPECT_TRUE(accepts(RegexSpec{often}, std::string(600, 'A'))) << "each name is looked up once";
  EXPECT_FALSE(accepts(RegexSpec{"."}, "\xE6\xBC"));
  EXPECT_FALSE(accepts(RegexSpec{"[^a]"}, "\xED\xA0\x80"));  // half a surrogate pair
}

TEST(GrammarRegex, KeepsInnerAnchors) {
  const RegexSpec spec{"(^|,)a(,|$)"};
  EXPECT_TRUE(accepts(spec, "a"));
  EXPECT_TRUE(accepts(spec, ",a,"));
  EXPECT_FALSE(accepts(spec, "ba"));
}

TEST(GrammarRegex, AnchorsMayStandBehindEachOther) {
  for (const char* pattern : {"^(^a$|^b$)$", "(^^a)|b", "^(?:(?:^)*(a|b)$)$", "(^|x)(^a|b)($|y)"}) {
    EXPECT_TRUE(accepts(RegexSpec{pattern}, "a")) << pattern;
    EXPECT_TRUE(accepts(RegexSpec{pattern}, "b")) << pattern;
    EXPECT_FALSE(accepts(RegexSpec{pattern}, "ab")) << pattern;
    EXPECT_TRUE(
        accepts(schema(fmt::format(R"({{"type":"string","pattern":"{}"}})", pattern)), R"("a")"))
        << pattern;
  }
  EXPECT_TRUE(accepts(RegexSpec{"$^|x(^a|b)"}, ""));
}

// The markers that anchors are made of are no text: where only one could follow, there is no way.
TEST(GrammarRegex, AnchorsInsideLeaveNoDeadEnds) {
  ExprPool pool;
  const ExprId root = pool.close(*compile_spec(pool, RegexSpec{"(x^a|b)c|d"})).value();
  Automaton automaton(std::move(pool), root);
  EXPECT_EQ(automaton.step(automaton.start(), "x"), Automaton::kDead);
  EXPECT_EQ(automaton.step(automaton.start(), "\xFE"), Automaton::kDead);
  EXPECT_TRUE(automaton.accepting(automaton.step(automaton.start(), "bc")));
}

TEST(GrammarRegex, CountsWithoutAMinimum) {
  for (const char* text : {"", "a", "aaa"}) EXPECT_TRUE(accepts(RegexSpec{"a{,3}"}, text)) << text;
  for (const char* text : {"aaaa", "a{,3}"}) EXPECT_FALSE(accepts(RegexSpec{"a{,3}"}, text));
  EXPECT_NE(refusal(RegexSpec{"\\07"}).find("octal"), std::string::npos);
  EXPECT_TRUE(accepts(RegexSpec{"\\0x"}, std::string_view("\0x", 2)));
}

TEST(GrammarRegex, RefusesWhatIsNoSetOfTexts) {
  EXPECT_NE(refusal(RegexSpec{"(?=a)b"}).find("look-around"), std::string::npos);
  EXPECT_NE(refusal(RegexSpec{"(a)\\1"}).find("\\1"), std::string::npos);
  EXPECT_NE(refusal(RegexSpec{"\\bword"}).find("\\b"), std::string::npos);
  EXPECT_NE(refusal(RegexSpec{"a++"}).find("possessive"), std::string::npos);
}

TEST(GrammarRegex, RefusesBrokenPatternsWithTheirPlace) {
  for (const char* pattern :
       {"(", ")", "[a", "*a", "a{3,2}", "\\", "[b-a]", "\\x1", "\\p{Greek}"}) {
    EXPECT_NE(refusal(RegexSpec{pattern}).find("at offset"), std::string::npos) << pattern;
  }
}

TEST(GrammarRegex, RefusesTowersOfGroupsAndQuantifiers) {
  EXPECT_NE(refusal(RegexSpec{std::string(4000, '(')}), "");
  EXPECT_NE(refusal(RegexSpec{fmt::format("a{}", std::string(4000, '*'))}), "");
  EXPECT_NE(refusal(RegexSpec{std::string(100'000, 'a')}).find("bytes"), std::string::npos);
  std::string optional;
  for (int i = 0; i < 1000; ++i) optional += "a?";
  EXPECT_TRUE(accepts(RegexSpec{optional}, "aaa"));
}

}  // namespace
}  // namespace deltaserve
