#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "small_tokenizer.h"

namespace deltaserve {
namespace {

using Pieces = std::vector<std::string>;

Pieces pieces_of(std::string_view text, const char* regex = kMarksRegex) {
  const PreTokenizer pre_tokenizer = PreTokenizer::for_pattern(regex).value();
  Pieces pieces;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = pre_tokenizer.piece_end(text, begin);
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

TEST(PreTokenizer, WordsTakeOneCharacterBefore) {
  EXPECT_EQ(pieces_of("Hello, big\tworld(x)"),
            (Pieces{"Hello", ",", " big", "\tworld", "(x", ")"}));
  EXPECT_EQ(pieces_of("a\nb"), (Pieces{"a", "\n", "b"}));
}

TEST(PreTokenizer, ContractionsInAnyCase) {
  EXPECT_EQ(pieces_of("we'RE it's I'\u017F don'tx 'k"),
            (Pieces{"we", "'RE", " it", "'s", " I", "'\u017F", " don", "'t", "x", " '", "k"}));
}

TEST(PreTokenizer, DigitsStandAlone) {
  EXPECT_EQ(pieces_of("v12\u0663"), (Pieces{"v", "1", "2", "\u0663"}));
}

TEST(PreTokenizer, SymbolsTakeASpaceBeforeAndNewlinesAfter) {
  EXPECT_EQ(pieces_of("x =={}\r\n\n y"), (Pieces{"x", " =={}\r\n\n", " y"}));
}

TEST(PreTokenizer, WhiteSpaceRuns) {
  EXPECT_EQ(pieces_of("a   b"), (Pieces{"a", "  ", " b"}));
  EXPECT_EQ(pieces_of("a   "), (Pieces{"a", "   "}));
  EXPECT_EQ(pieces_of("a \n \n  b"), (Pieces{"a", " \n \n", " ", " b"}));
  EXPECT_EQ(pieces_of("1  2 3"), (Pieces{"1", " ", " ", "2", " ", "3"}));
  EXPECT_EQ(pieces_of("\u3000\u3000\u4F60"), (Pieces{"\u3000", "\u3000\u4F60"}));
}

TEST(PreTokenizer, MarksGoWithLettersOnlyInTheNewerRegex) {
  const std::string text = "\u0928\u092E\u0938\u094D\u0924\u0947";
  EXPECT_EQ(pieces_of(text), Pieces{text});
  EXPECT_EQ(pieces_of(text, kNoMarksRegex),
            (Pieces{"\u0928\u092E\u0938", "\u094D\u0924", "\u0947"}));
}

TEST(PreTokenizer, RefusesOtherPatterns) {
  EXPECT_FALSE(PreTokenizer::for_pattern(R"(\p{L}+|\s+)").has_value());
}

}  // namespace
}  // namespace deltaserve
