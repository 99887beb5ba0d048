// Request fields: absent, null, right and wrong types, and the names that errors carry.
#include "json/fields.h"

#include <gtest/gtest.h>

namespace deltaserve::json {
namespace {

Object object_of(std::string_view text) {
  Result<Value> value = parse(text);
  EXPECT_TRUE(value && value->is_object()) << text;
  return value->get_object();
}

TEST(Fields, AbsentAndNullAreTheSame) {
  const Object object = object_of(R"({"x":null})");
  for (const std::string_view key : {"x", "y"}) {
    EXPECT_EQ(number_field(object, key).value(), std::nullopt);
    EXPECT_EQ(integer_field(object, key).value(), std::nullopt);
    EXPECT_EQ(bool_field(object, key).value(), std::nullopt);
    EXPECT_EQ(string_field(object, key).value(), std::nullopt);
    EXPECT_EQ(array_field(object, key).value(), nullptr);
    EXPECT_EQ(object_field(object, key).value(), nullptr);
  }
}

TEST(Fields, ReadsEachType) {
  const Object object = object_of(R"({"i":3,"f":0.5,"b":false,"s":"é","a":[1],"o":{"k":1}})");
  EXPECT_EQ(number_field(object, "i").value(), 3.0);
  EXPECT_EQ(number_field(object, "f").value(), 0.5);
  EXPECT_EQ(integer_field(object, "i").value(), 3);
  EXPECT_EQ(bool_field(object, "b").value(), false);
  EXPECT_EQ(string_field(object, "s").value(), "é");
  EXPECT_EQ(array_field(object, "a").value()->size(), 1U);
  EXPECT_TRUE(object_field(object, "o").value()->contains("k"));
}

TEST(Fields, IntegersAcceptWholeFloatsOnly) {
  const Object object = object_of(
      R"({"a":3.0,"b":1.5,"c":1e300,"d":18446744073709551615,"e":-2.0,"f":9223372036854775808.0})");
  EXPECT_EQ(integer_field(object, "a").value(), 3);
  EXPECT_EQ(integer_field(object, "e").value(), -2);
  for (const std::string_view key : {"b", "c", "d", "f"}) {
    const auto result = integer_field(object, key);
    ASSERT_FALSE(result) << key;
    EXPECT_EQ(result.error().param, key);
  }
}

TEST(Fields, WrongTypesNameTheField) {
  const Object object = object_of(R"({"s":"1","n":1,"b":true})");
  const auto number = number_field(object, "s");
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(number.error().param, "s");
  EXPECT_EQ(number.error().message, "Invalid type for 's': expected a number, got a string.");
  EXPECT_FALSE(number_field(object, "b"));
  EXPECT_FALSE(integer_field(object, "b"));
  EXPECT_FALSE(bool_field(object, "n"));
  EXPECT_FALSE(string_field(object, "n"));
  EXPECT_FALSE(array_field(object, "n"));
  const auto nested = object_field(object, "n", "stream_options");
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().param, "stream_options.n");
}

}  // namespace
}  // namespace deltaserve::json
