// Parsing limits, the exact Python layout of dumps and repr(float), and the wire form.
#include "json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace deltaserve::json {
namespace {

std::string round_trip(std::string_view text) {
  const Result<Value> value = parse(text);
  return value ? dumps(*value) : "error: " + value.error().message;
}

TEST(JsonParse, KeepsKeyOrderAndTheLastOfRepeatedKeys) {
  EXPECT_EQ(round_trip(R"({"b":1,"a":[2,{}],"b":null})"), R"({"b": null, "a": [2, {}]})");
}

TEST(JsonParse, ReadsFractionsToTheLastBit) {
  EXPECT_EQ(round_trip("[0.1,1e16,123456789.123456789,5e-324,1.7976931348623157e308,2.5e-5]"),
            "[0.1, 1e+16, 123456789.12345679, 5e-324, 1.7976931348623157e+308, 2.5e-05]");
  EXPECT_EQ(round_trip("[9007199254740993.0,-0.0,-0,1e-400,-1e-400,1E2]"),
            "[9007199254740992.0, -0.0, 0, 0.0, -0.0, 100.0]");
  EXPECT_EQ(round_trip("[7.3177701707893310e+15, 0.30000000000000004]"),
            "[7317770170789331.0, 0.30000000000000004]");
}

TEST(JsonParse, KeepsSixtyFourBitIntegers) {
  EXPECT_EQ(round_trip("[-9223372036854775808,9223372036854775807,18446744073709551615]"),
            "[-9223372036854775808, 9223372036854775807, 18446744073709551615]");
}

TEST(JsonParse, RefusesNumbersOutOfRange) {
  const Result<Value> value = parse("[1e400]");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(value.error().message.find("out of range"), std::string::npos);
}

TEST(JsonParse, LimitsDepth) {
  ParseLimits limits;
  limits.max_depth = 3;
  EXPECT_TRUE(parse("[[[1]]]", limits));
  const Result<Value> deep = parse("[[[[1]]]]", limits);
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().message.find("deeper than 3"), std::string::npos);
  EXPECT_FALSE(parse(std::string(1'000'000, '[')));
  EXPECT_FALSE(parse(R"({"a":{"b":{"c":[]}}})", limits));
}

TEST(JsonParse, LimitsBytesBeforeParsing) {
  ParseLimits limits;
  limits.max_bytes = 4;
  EXPECT_TRUE(parse("[12]", limits));
  const Result<Value> large = parse("[123]", limits);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kPayloadTooLarge);
}

TEST(JsonParse, RefusesWhatIsNotJson) {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "nul",
                                      "NaN",
                                      "Infinity",
                                      "01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "'a'",
                                      "[1] x",
                                      "// c\n1",
                                      "\"\xff\"",
                                      "\"\xc0\x80\"",
                                      "\"\\ud800\"",
                                      "\"a\nb\"",
                                      "\"\\x\"",
                                      "\"abc",
                                      "{1:2}",
                                      "[1 2]",
                                      "\xef\xbb\xbf"
                                      "1"}) {
    const Result<Value> value = parse(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::kInvalidArgument) << text;
    EXPECT_NE(value.error().message.find("at byte"), std::string::npos) << text;
  }
}

TEST(JsonParse, NamesTheByte) {
  const Result<Value> value = parse("[1, 2, x]");
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message.find("at byte 7"), std::string::npos) << value.error().message;
}

TEST(JsonParse, DecodesEscapes) {
  const Result<Value> value = parse(R"("\u00e9\ud83d\ude00\n\/\u0000")");
  ASSERT_TRUE(value);
  EXPECT_EQ(std::string_view(value->get_string()),
            std::string_view("\xc3\xa9\xf0\x9f\x98\x80\n/\0", 9));
}

TEST(JsonDumps, EscapesAsPython) {
  EXPECT_EQ(dumps(Value("a\"\\\b\f\n\r\t\x01\x1f\x7f/é<>&")),
            "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/é<>&\"");
}

TEST(JsonDumps, IndentsAsPython) {
  const Result<Value> value = parse(R"({"a":[1,{"b":[]},{}],"c":"x"})");
  ASSERT_TRUE(value);
  EXPECT_EQ(dumps(*value, 2),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    },\n    {}\n  ],\n  \"c\": "
            "\"x\"\n}");
  EXPECT_EQ(dumps(Value(Array{1, 2}), 0), "[\n1,\n2\n]");
}

TEST(JsonSerialize, WritesNoSpaces) {
  const Result<Value> value = parse(R"({"a": [1, 2.0, true, null], "é": "\n"})");
  ASSERT_TRUE(value);
  EXPECT_EQ(json::serialize(*value), R"({"a":[1,2.0,true,null],"é":"\n"})");
}

TEST(PythonFloat, PrintsAsRepr) {
  EXPECT_EQ(python_float(0.0), "0.0");
  EXPECT_EQ(python_float(-0.0), "-0.0");
  EXPECT_EQ(python_float(1.0), "1.0");
  EXPECT_EQ(python_float(-1234.5), "-1234.5");
  EXPECT_EQ(python_float(0.0001), "0.0001");
  EXPECT_EQ(python_float(0.00001), "1e-05");
  EXPECT_EQ(python_float(1e15), "1000000000000000.0");
  EXPECT_EQ(python_float(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_float(1.5e300), "1.5e+300");
  EXPECT_EQ(python_float(-1e-7), "-1e-07");
  EXPECT_EQ(python_float(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(python_float(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(python_float(std::nan("")), "nan");
}

}  // namespace
}  // namespace deltaserve::json
