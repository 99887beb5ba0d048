// Grammars as users write them, in both notations.
#include "grammar/ebnf.h"

#include <fmt/format.h>

#include "grammar_test_util.h"

namespace deltaserve {
namespace {

TEST(GrammarEbnf, Ebnf) {
  const EbnfSpec spec{R"(# a list of numbers
root ::= "[" ws (item ("," ws item)*)? "]"
item ::= [1-9] [0-9]{0,2}
       | "0"
ws ::= [ \t\n]*
)"};
  EXPECT_TRUE(accepts(spec, "[]"));
  EXPECT_TRUE(accepts(spec, "[10, 0,\n999]"));
  EXPECT_FALSE(accepts(spec, "[1000]"));
  EXPECT_FALSE(accepts(spec, "[01]"));
}

TEST(GrammarEbnf, Lark) {
  const EbnfSpec spec{R"lark(start: sum
?sum: product (("+"|"-") product)*
product: atom ("*" atom)*   -> mul
atom: NUMBER | "(" sum ")" | ["-"] NAME~1..2
NUMBER.2: /[0-9]+(\.[0-9]+)?/
NAME: "a".."c"  // three letters
)lark"};
  EXPECT_TRUE(accepts(spec, "1+2*(3.5-4)*ab"));
  EXPECT_TRUE(accepts(spec, "-c"));
  EXPECT_FALSE(accepts(spec, "1+"));
  EXPECT_FALSE(accepts(spec, "abc"));
}

TEST(GrammarEbnf, RecursionNeedsAnEnd) {
  EXPECT_TRUE(accepts(EbnfSpec{"root ::= \"(\" root? \")\""}, "((()))"));
  EXPECT_NE(refusal(EbnfSpec{"root ::= \"a\" root"}), "");
  EXPECT_NE(refusal(EbnfSpec{"root ::= root \"a\" | \"b\""}).find("left recursion"),
            std::string::npos);
  EXPECT_NE(refusal(EbnfSpec{"root ::= x root \"a\"\nx ::= \"b\"?"}).find("left recursion"),
            std::string::npos);
}

TEST(GrammarEbnf, RefusesWithTheLine) {
  EXPECT_NE(refusal(EbnfSpec{"root ::= \"a\"\nb ::= missing"}).find("'missing'"),
            std::string::npos);
  EXPECT_NE(refusal(EbnfSpec{"root ::= \"a\"\n\nb ::= (\"x\""}).find("line 3"), std::string::npos);
  for (const char* text :
       {"", "root", "root ::= \"a", "start: /a/i", "%import common.INT\nstart: INT",
        "start: \"a\"i", "root ::= a\nroot ::= b"}) {
    EXPECT_NE(refusal(EbnfSpec{text}), "") << text;
  }
}

TEST(GrammarEbnf, ManyRulesAndBrackets) {
  EXPECT_NE(refusal(EbnfSpec{fmt::format("root ::= {}", std::string(50'000, '('))}), "");
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 3000; ++i) {
    chain += fmt::format("r{} ::= r{}\n", i, i + 1);
  }
  EXPECT_TRUE(accepts(EbnfSpec{chain + "r3000 ::= \"z\""}, "z"));
  for (int i = 3000; i < 6000; ++i) {
    chain += fmt::format("r{} ::= r{}\n", i, i + 1);
  }
  EXPECT_NE(refusal(EbnfSpec{chain + "r6000 ::= \"z\""}).find("too many rules"), std::string::npos);
}

}  // namespace
}  // namespace deltaserve
