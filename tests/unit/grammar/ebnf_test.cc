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
  EXPECT_NE(refusal(EbnfSpec{"root ::= root \"a\""}), "");
  EXPECT_NE(refusal(EbnfSpec{"root ::= x root \"a\"\nx ::= \"b\"?"}).find("left recursion"),
            std::string::npos);
}

TEST(GrammarEbnf, LeftRecursion) {
  const EbnfSpec direct{"root ::= root \"-\" [0-9] | root \"!\" | [0-9]"};
  for (const char* text : {"1", "1-2-3", "1!-2!!"}) EXPECT_TRUE(accepts(direct, text)) << text;
  for (const char* text : {"", "-1", "1-", "12"}) EXPECT_FALSE(accepts(direct, text)) << text;
  const EbnfSpec around{"root ::= a\na ::= b \"x\" | \"p\"\nb ::= c \"y\"?\nc ::= a \"z\" | \"q\""};
  for (const char* text : {"p", "qx", "qyx", "pzx", "pzyxzx"}) {
    EXPECT_TRUE(accepts(around, text)) << text;
  }
  for (const char* text : {"q", "px", "pz", "qz"}) EXPECT_FALSE(accepts(around, text)) << text;
  const EbnfSpec sums{"e ::= e \"+\" e | e e | \"(\" e \")\" | [a-z]"};
  EXPECT_TRUE(accepts(sums, "a+b(c+d)e+(f)"));
  EXPECT_FALSE(accepts(sums, "a+b(c+d"));
  std::string long_sum = "a";
  for (int i = 0; i < 3000; ++i) long_sum += "+a";
  EXPECT_TRUE(accepts(sums, long_sum));
  EXPECT_TRUE(accepts(EbnfSpec{"root ::= root | \"a\""}, "a"));
  std::string doubling;
  for (int i = 0; i < 40; ++i) {
    doubling +=
        fmt::format("r{} ::= r{} \"x\" | r{} \"y\" | \"z\"\n", i, (i + 1) % 40, (i + 1) % 40);
  }
  ExprPool pool;
  EXPECT_THROW(std::ignore = pool.close(compile_spec(pool, EbnfSpec{doubling}).value()),
               GrammarTooComplex);
}

TEST(GrammarEbnf, LeftRecursionInsideAGroup) {
  for (const char* grammar : {"start: [start] \"b\"", "root ::= (root | \"\") \"b\""}) {
    for (const char* text : {"b", "bb", "bbbb"}) {
      EXPECT_TRUE(accepts(EbnfSpec{grammar}, text)) << grammar;
    }
    EXPECT_FALSE(accepts(EbnfSpec{grammar}, "")) << grammar;
  }
  EXPECT_TRUE(accepts(EbnfSpec{"root ::= root? \"ab\"? | \"aa\""}, "aaab"));
  EXPECT_TRUE(accepts(EbnfSpec{"root ::= (root \"b\")? \"b\""}, "bbb"));
  EXPECT_FALSE(accepts(EbnfSpec{"root ::= (root \"b\")? \"b\""}, "bb"));
}

TEST(GrammarEbnf, StringsAreCharacters) {
  EXPECT_TRUE(accepts(EbnfSpec{"start: \"\\x4a\\n\"i"}, "j\n"));
  EXPECT_TRUE(accepts(EbnfSpec{"start: \"\u00e9t\u00c9\"i"}, "\u00c9T\u00e9"));
  EXPECT_TRUE(accepts(EbnfSpec{"start: \"\u0430\"..\"\u044f\"+"}, "\u0431\u0432"));
  EXPECT_TRUE(accepts(EbnfSpec{"start: \"[\"..\"]\" | \"::=\""}, "\\"));
  EXPECT_TRUE(accepts(EbnfSpec{"start: \"::=\""}, "::="));
  for (const char* text : {"root ::= \"\\d\"", "start: \"\\w\"i", "start: \"a\"..\"\"",
                           "start: \"\\s\"..\"z\"", "start: \"ab\"..\"c\""}) {
    EXPECT_NE(refusal(EbnfSpec{text}), "") << text;
  }
}

TEST(GrammarEbnf, LarkDirectives) {
  const EbnfSpec spec{R"lark(
%import common.SIGNED_NUMBER -> NUM
%import common (CNAME, WS)
%ignore WS
%ignore "#" /[^\n]*/
start: sum
sum: sum "+" call | call
call: CNAME "(" [sum ("," sum)*] ")" | NUM | "Pi"i
)lark"};
  for (const char* text : {"1", " f( 1 ,\n-2.5e3 )  + PI # note\n", "f()+pI", "g(f(1),a_1())"}) {
    EXPECT_TRUE(accepts(spec, text)) << text;
  }
  for (const char* text : {"", "f(", "1 2", "- 1", "a b()", "f(,)"}) {
    EXPECT_FALSE(accepts(spec, text)) << text;
  }
  const EbnfSpec strings{"%import common.ESCAPED_STRING\nstart: ESCAPED_STRING"};
  EXPECT_TRUE(accepts(strings, R"("a\"b")"));
  EXPECT_FALSE(accepts(strings, R"("a"b")"));
  const EbnfSpec comments{"%import common.C_COMMENT\nstart: C_COMMENT"};
  EXPECT_TRUE(accepts(comments, "/* a * b **/"));
  EXPECT_FALSE(accepts(comments, "/* a */ b */"));
}

TEST(GrammarEbnf, RefusesWithTheLine) {
  EXPECT_NE(refusal(EbnfSpec{"root ::= \"a\"\nb ::= missing"}).find("'missing'"),
            std::string::npos);
  EXPECT_NE(refusal(EbnfSpec{"root ::= \"a\"\n\nb ::= (\"x\""}).find("line 3"), std::string::npos);
  for (const char* text : {"", "root", "root ::= \"a", "start: /a/i",
                           "%import python.NAME\nstart: NAME", "%import common.THING\nstart: THING",
                           "%declare X\nstart: \"a\"", "%import common.INT\nINT: \"1\"\nstart: INT",
                           "root ::= %import common.INT", "root ::= a\nroot ::= b"}) {
    EXPECT_NE(refusal(EbnfSpec{text}), "") << text;
  }
}

// A client must not run the server out of stack: groups in rules that call each other.
TEST(GrammarEbnf, RulesAndGroupsNestOnlySoDeep) {
  std::string chain;
  for (int i = 0; i < 1000; ++i) {
    chain += fmt::format("r{} ::= {}r{}", i, std::string(20, '('), i + 1);
    for (int k = 0; k < 20; ++k) chain += " \"x\")?";
    chain += '\n';
  }
  ExprPool pool;
  const ExprId root = pool.close(*compile_spec(pool, EbnfSpec{chain + "r1000 ::= \"z\""})).value();
  Automaton automaton(std::move(pool), root);
  EXPECT_THROW(automaton.row(automaton.start()), GrammarTooComplex);
  EXPECT_THROW(automaton.step(automaton.start(), "z"), GrammarTooComplex);
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
