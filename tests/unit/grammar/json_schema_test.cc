// Schemas by keyword. Thousands of random ones are compared with jsonschema by the oracle.
#include "grammar/json_schema.h"

#include <fmt/format.h>

#include "grammar_test_util.h"

namespace deltaserve {
namespace {

constexpr const char* kPerson =
    R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},
        "required":["name","age"]})";

TEST(GrammarJsonSchema, WritesPropertiesInTheirOrder) {
  EXPECT_TRUE(accepts(schema(kPerson), R"({"name":"Alice","age":30})"));
  EXPECT_TRUE(accepts(schema(kPerson), "\n\n{ \"name\": \"Alice\",\n  \"age\": 30\n}"));
  EXPECT_FALSE(accepts(schema(kPerson), R"({"age":30,"name":"Alice"})"));
  EXPECT_FALSE(accepts(schema(kPerson), R"({"name":"Alice"})"));
  EXPECT_FALSE(accepts(schema(kPerson), R"({"name":"Alice","age":30,"x":1})"));
  EXPECT_FALSE(accepts(schema(kPerson), R"({"name":"Alice","age":30} )"));
}

TEST(GrammarJsonSchema, OptionalPropertiesAndCommas) {
  const auto spec = schema(R"({"type":"object","properties":{"a":{},"b":{},"c":{}},
                               "required":["b"],"additionalProperties":false})");
  EXPECT_TRUE(accepts(spec, R"({"b":1})"));
  EXPECT_TRUE(accepts(spec, R"({"a":1,"b":[{"z":null}],"c":"x"})"));
  EXPECT_FALSE(accepts(spec, R"({"a":1,"c":1})"));
  EXPECT_FALSE(accepts(spec, R"({,"b":1})"));
  EXPECT_FALSE(accepts(spec, R"({"b":1,})"));
}

TEST(GrammarJsonSchema, FollowsRecursion) {
  const auto spec = schema(R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object",
      "properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},
      "required":["v","next"]}}})");
  std::string text = "null";
  for (int i = 0; i < 300; ++i) text = fmt::format(R"({{"v":{},"next":{}}})", i, text);
  EXPECT_TRUE(accepts(spec, text));
  EXPECT_FALSE(accepts(spec, text.substr(0, text.size() - 1)));
  EXPECT_NE(
      refusal(schema(R"({"type":"object","required":["me"],"properties":{"me":{"$ref":"#"}}})")),
      "");
}

TEST(GrammarJsonSchema, StringsByCharactersNotBytes) {
  const auto spec = schema(R"({"type":"string","minLength":2,"maxLength":3})");
  EXPECT_TRUE(accepts(spec, "\"\xE6\xBC\xA2\xF0\x9F\x98\x80\""));
  EXPECT_TRUE(accepts(spec, R"("\ud83d\ude00b")"));
  EXPECT_FALSE(accepts(spec, R"("\ud83d\ude00")"));
  EXPECT_FALSE(accepts(spec, R"("\ud83d")"));
  EXPECT_FALSE(accepts(spec, "\"a\nb\""));
  EXPECT_TRUE(accepts(schema(R"x({"type":"string","pattern":"^\"\\n$"})x"), R"x("\"\n")x"));
}

TEST(GrammarJsonSchema, EmptyIntersectionsAreNoDeadEnds) {
  const auto spec = schema(R"x({"type":"string","pattern":"^(abc|ab)","maxLength":2})x");
  EXPECT_TRUE(accepts(spec, R"("ab")"));
  ExprPool pool;
  const ExprId root = pool.close(*compile_spec(pool, spec)).value();
  Automaton automaton(std::move(pool), root);
  EXPECT_EQ(automaton.step(automaton.start(), "\"abc"), Automaton::kDead);
  EXPECT_NE(refusal(schema(R"({"type":"string","pattern":"^a{5}","maxLength":3})")), "");
}

TEST(GrammarJsonSchema, Formats) {
  EXPECT_TRUE(accepts(schema(R"({"type":"string","format":"date-time"})"),
                      R"("2026-11-29T23:59:59.25+01:00")"));
  EXPECT_FALSE(accepts(schema(R"({"type":"string","format":"date"})"), R"("2026-02-30")"));
  EXPECT_TRUE(accepts(schema(R"({"type":"string","format":"date"})"), R"("2024-02-29")"));
  EXPECT_FALSE(accepts(schema(R"({"type":"string","format":"date"})"), R"("1900-02-29")"));
  for (const char* text : {R"("fe80::1")", R"("1::2:3")", R"("::ffff:10.0.0.1")", R"("::")"}) {
    EXPECT_TRUE(accepts(schema(R"({"type":"string","format":"ipv6"})"), text)) << text;
  }
  EXPECT_FALSE(accepts(schema(R"({"type":"string","format":"ipv6"})"), R"("1::2::3")"));
  EXPECT_TRUE(accepts(schema(R"({"type":"string","format":"uri"})"), R"("mailto:a@b.org")"));
  EXPECT_FALSE(accepts(schema(R"({"type":"string","format":"uri"})"), R"("//b.org/x")"));
  EXPECT_TRUE(accepts(schema(R"({"type":"string","format":"email"})"), R"("a.b+c@x-y.org")"));
  EXPECT_NE(refusal(schema(R"({"type":"string","format":"color"})")).find("'color'"),
            std::string::npos);
}

TEST(GrammarJsonSchema, PropertyNamesHoldForNamedKeysToo) {
  const auto named = schema(
      R"({"properties":{"a":{},"bcd":{}},"propertyNames":{"maxLength":2},"additionalProperties":true})");
  EXPECT_TRUE(accepts(named, R"({"a":1,"xy":2})"));
  EXPECT_FALSE(accepts(named, R"({"bcd":1})"));
  EXPECT_FALSE(accepts(named, R"({"xyz":1})"));
  const auto one_of_two = schema(R"({"propertyNames":{"anyOf":[{"const":"p"},{"enum":["q",1]}]}})");
  EXPECT_TRUE(accepts(one_of_two, R"({"q":1,"p":2})"));
  EXPECT_FALSE(accepts(one_of_two, R"({"r":1})"));
  EXPECT_TRUE(accepts(schema(R"({"propertyNames":false})"), "{}"));
  EXPECT_FALSE(accepts(schema(R"({"propertyNames":false})"), R"({"a":1})"));
}

TEST(GrammarJsonSchema, WholeNumbersInEitherSpelling) {
  EXPECT_TRUE(accepts(schema(R"({"const":-2.0})"), "-2"));
  EXPECT_TRUE(accepts(schema(R"({"const":-2.0})"), "-2.0"));
  EXPECT_TRUE(accepts(schema(R"({"enum":[2.5,7.0],"minimum":2})"), "2.5"));
  EXPECT_TRUE(accepts(schema(R"({"enum":[[1.0]]})"), "[1]"));
}

TEST(GrammarJsonSchema, MultiplesOfDecimals) {
  for (const char* text : {"0", "4.5", "-1.5", "3", "3.0", "150"}) {
    EXPECT_TRUE(accepts(schema(R"({"multipleOf":1.5})"), text)) << text;
  }
  for (const char* text : {"1", "4.6", "1.55", "0.5", "03", "100"}) {
    EXPECT_FALSE(accepts(schema(R"({"type":"number","multipleOf":1.5})"), text)) << text;
  }
  EXPECT_TRUE(accepts(schema(R"({"type":"integer","multipleOf":0.25})"), "7"));
  EXPECT_FALSE(accepts(schema(R"({"type":"integer","multipleOf":0.25})"), "7.25"));
  EXPECT_NE(refusal(schema(R"({"multipleOf":0.12345})")).find("'multipleOf'"), std::string::npos);
}

TEST(GrammarJsonSchema, ReferencesByUriStayInTheDocument) {
  const auto tree = schema(R"({"$id":"http://example.com/a/tree","type":"object",
      "properties":{"kids":{"type":"array","items":{"$ref":"node#leaf"}}},"required":["kids"],
      "$defs":{"n":{"$id":"node","$defs":{"l":{"$anchor":"leaf","type":"integer"}}}}})");
  EXPECT_TRUE(accepts(tree, R"({"kids":[1,2]})"));
  EXPECT_FALSE(accepts(tree, R"({"kids":["x"]})"));
  EXPECT_TRUE(accepts(
      schema(R"({"$id":"urn:x:y","$ref":"urn:x:y#/$defs/t","$defs":{"t":{"type":"null"}}})"),
      "null"));
  EXPECT_NE(refusal(schema(R"({"$id":"http://example.com/a/b","$ref":"../c"})")).find("'../c'"),
            std::string::npos);
}

TEST(GrammarJsonSchema, OneOfNeedsToBeDisjoint) {
  const auto spec = schema(R"({"oneOf":[
      {"type":"object","properties":{"k":{"const":"x"},"v":{"type":"integer"}},"required":["k","v"]},
      {"type":"object","properties":{"k":{"const":"y"}},"required":["k"]},
      {"type":"string","maxLength":2},{"type":"string","minLength":3}]})");
  EXPECT_TRUE(accepts(spec, R"({"k":"x","v":1})"));
  EXPECT_TRUE(accepts(spec, R"({"k":"y"})"));
  EXPECT_TRUE(accepts(spec, R"("abcdef")"));
  EXPECT_NE(refusal(schema(R"({"oneOf":[{"type":"integer"},{"minimum":3}]})")).find("oneOf"),
            std::string::npos);
}

// What a value satisfies is asked, not what is written: properties come in any order, objects may
// have others, and what stands around oneOf holds too.
TEST(GrammarJsonSchema, OneOfCountsValuesThatAreNeverWritten) {
  for (const char* text :
       {R"({"oneOf":[{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]},
                     {"type":"object","properties":{"b":{},"a":{}},"required":["a","b"]}]})",
        R"({"oneOf":[{"type":"object","properties":{"a":{}},"required":["a"]},
                     {"type":"object","properties":{"b":{}}}]})",
        R"({"type":"object","properties":{"a":{},"b":{}},
            "oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]})",
        R"({"oneOf":[{"type":"object","properties":{"k":{"const":1}},"required":["k"]},
                     {"type":"object","properties":{"k":{"const":1.0}},"required":["k"]}]})",
        R"({"oneOf":[{"const":1e300},{"type":"number","minimum":0}]})",
        R"({"oneOf":[{"const":{"a":1,"b":2}},{"const":{"b":2.0,"a":1}}]})"}) {
    EXPECT_NE(refusal(schema(text)).find("'oneOf'"), std::string::npos) << text;
  }
}

TEST(GrammarJsonSchema, OneOfMembersExcludeEachOtherBelowTheirTop) {
  const auto nested = schema(R"({"oneOf":[
      {"type":"object","properties":{"m":{"type":"object","properties":{"t":{"const":"x"}},
                                          "required":["t"]}},"required":["m"]},
      {"type":"object","properties":{"m":{"type":"object","properties":{"t":{"enum":["y","z"]}},
                                          "required":["t"]},"n":{}},"required":["m"]}]})");
  EXPECT_TRUE(accepts(nested, R"({"m":{"t":"z"},"n":1})"));
  EXPECT_FALSE(accepts(nested, R"({"m":{"t":"x"},"n":1})"));
  const auto keys = schema(R"({"oneOf":[
      {"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false},
      {"type":"object","properties":{"b":{}},"required":["b"],"additionalProperties":false}]})");
  EXPECT_TRUE(accepts(keys, R"({"b":1})"));
  EXPECT_FALSE(accepts(keys, R"({"a":1,"b":1})"));
  const auto places = schema(R"({"oneOf":[
      {"type":"array","prefixItems":[{"const":"p"}],"minItems":1,"items":{"type":"integer"}},
      {"type":"array","prefixItems":[{"const":"q"}],"minItems":1}]})");
  EXPECT_TRUE(accepts(places, R"(["p",1])"));
  EXPECT_TRUE(accepts(places, R"(["q","x"])"));
}

// As Pydantic writes tagged unions.
TEST(GrammarJsonSchema, OneOfWithADiscriminator) {
  const auto pets =
      schema(R"({"discriminator":{"propertyName":"kind","mapping":{"cat":"#/$defs/Cat"}},
      "oneOf":[{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}],"$defs":{
      "Cat":{"type":"object","properties":{"kind":{"const":"cat","type":"string"},
             "lives":{"type":"integer"}},"required":["kind","lives"]},
      "Dog":{"type":"object","properties":{"kind":{"enum":["dog","wolf"],"type":"string"},
             "owner":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["kind"]}}})");
  EXPECT_TRUE(accepts(pets, R"({"kind":"cat","lives":9})"));
  EXPECT_TRUE(accepts(pets, R"({"kind":"wolf","owner":{"kind":"cat","lives":1}})"));
  EXPECT_FALSE(accepts(pets, R"({"kind":"cat","owner":null})"));
  EXPECT_TRUE(accepts(schema(R"({"type":"array","uniqueItems":false})"), "[1,1]"));
}

TEST(GrammarJsonSchema, NumbersAreEqualByValue) {
  EXPECT_TRUE(accepts(schema(R"({"const":1e300,"minimum":0})"), "1e+300"));
  EXPECT_TRUE(accepts(schema(R"({"enum":[1e-7,5],"maximum":1})"), "1e-07"));
  EXPECT_NE(refusal(schema(R"({"enum":[1e300],"maximum":0})")), "");
  EXPECT_NE(refusal(schema(R"({"const":9007199254740993,"enum":[9007199254740992]})")), "");
  EXPECT_NE(refusal(schema(R"({"const":9007199254740993,"enum":[9007199254740992.0]})")), "");
  EXPECT_TRUE(accepts(schema(R"({"const":[{"a":1}],"enum":[[{"a":1.0}]]})"), R"([{"a":1}])"));
}

// Two extra members may have the same key, which is one property.
TEST(GrammarJsonSchema, CountsOnlyOneExtraMemberTowardsTheMinimum) {
  const auto one = schema(R"({"type":"object","properties":{"a":{},"b":{}},
                              "additionalProperties":true,"minProperties":2})");
  EXPECT_TRUE(accepts(one, R"({"a":1,"x":2})"));
  EXPECT_TRUE(accepts(one, R"({"a":1,"b":2,"x":3,"x":4})"));
  EXPECT_FALSE(accepts(one, R"({"x":1,"x":2})"));
  EXPECT_TRUE(accepts(schema(R"({"type":"object","minProperties":1})"), R"({"x":1})"));
  const std::string message = refusal(schema(R"({"items":{"type":"object","minProperties":2}})"));
  EXPECT_NE(message.find("'minProperties'"), std::string::npos) << message;
  EXPECT_NE(message.find("$.items"), std::string::npos) << message;
}

TEST(GrammarJsonSchema, RefusesByNameAndPlace) {
  const std::string message = refusal(
      schema(R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}})"));
  EXPECT_NE(message.find("'uniqueItems'"), std::string::npos) << message;
  EXPECT_NE(message.find("$.properties.a"), std::string::npos) << message;
  for (const char* text :
       {R"({"not":{}})", R"({"type":"strng"})", R"({"$ref":"#/nowhere"})",
        R"({"$ref":"http://x/y"})", R"({"minLength":-1})", R"({"properties":[]})", R"({"enum":3})",
        R"({"anyOf":[]})", "false", R"({"if":{}})", R"({"unheardOf":1})", R"({"$ref":"#"})", "3"}) {
    if (std::string_view(text) == R"({"$ref":"#"})") {
      EXPECT_EQ(refusal(schema(text)), "") << "refers to itself and says nothing more";
    } else {
      EXPECT_NE(refusal(schema(text)), "") << text;
    }
  }
}

TEST(GrammarJsonSchema, LimitsSizeAndDepth) {
  std::string deep = "{}";
  for (int i = 0; i < 150; ++i) deep = fmt::format(R"({{"type":"array","items":{}}})", deep);
  EXPECT_NE(refusal(schema(deep)).find("nested too deeply"), std::string::npos);
  std::string wide = R"({"anyOf":[{"type":"null"}]})";
  for (int i = 0; i < 60; ++i) {
    wide = fmt::format(
        R"({{"anyOf":[{{"type":"array","items":{0}}},{{"type":"array","items":{0}}}]}})",
        i < 8 ? wide : R"({"$ref":"#/anyOf/0/items"})");
  }
  EXPECT_NE(refusal(schema(R"({"allOf":[)" + wide + "]}")), "x");  // comes back at all
  const std::string long_value(1'000'000, 'x');
  ExprPool pool;
  EXPECT_TRUE(accepts(ChoiceSpec{{long_value.substr(0, 200'000)}}, long_value.substr(0, 200'000)));
}

TEST(GrammarJsonSchema, LimitsWhatIsComparedInPairs) {
  std::string values = "0";
  std::string members = R"({"const":0})";
  for (int i = 1; i < 6000; ++i) {
    values += fmt::format(",{}", i);
    members += fmt::format(R"(,{{"const":{}}})", i);
  }
  EXPECT_NE(refusal(schema(fmt::format(R"({{"enum":[{}]}})", values))).find("5000"),
            std::string::npos);
  EXPECT_NE(refusal(schema(fmt::format(R"({{"oneOf":[{}]}})", members))).find("too large"),
            std::string::npos);
}

TEST(GrammarJsonSchema, AnyObject) {
  EXPECT_TRUE(accepts(AnyJsonObject{}, R"({"a":[1,2.5e-3,{"b":null}],"":"x\/\u00e9"})"));
  EXPECT_FALSE(accepts(AnyJsonObject{}, "[]"));
  EXPECT_FALSE(accepts(AnyJsonObject{}, R"({"a":01})"));
}

}  // namespace
}  // namespace deltaserve
