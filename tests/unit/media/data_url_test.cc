// Base64 and data URLs as clients write them, and what is refused.
#include "media/data_url.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "media/base64.h"

namespace deltaserve {
namespace {

std::optional<std::string> decoded(std::string_view text) {
  const auto bytes = decode_base64(text);
  if (!bytes) return std::nullopt;
  return std::string(bytes->begin(), bytes->end());
}

TEST(Base64, DecodesTheVectorsOfTheRfc) {
  EXPECT_EQ(decoded(""), "");
  EXPECT_EQ(decoded("Zg=="), "f");
  EXPECT_EQ(decoded("Zm8="), "fo");
  EXPECT_EQ(decoded("Zm9v"), "foo");
  EXPECT_EQ(decoded("Zm9vYmFy"), "foobar");
  EXPECT_EQ(decoded("//79"), "\xFF\xFE\xFD");
}

TEST(Base64, TakesLineBreaksAndMissingPadding) {
  EXPECT_EQ(decoded("Zm9v\r\nYm\n Fy\n"), "foobar");
  EXPECT_EQ(decoded("Zg"), "f");
  EXPECT_EQ(decoded("Zm8"), "fo");
}

TEST(Base64, RefusesWhatIsNotBase64) {
  for (const std::string_view text : {"Zm9v!", "Z", "Zg===", "Zg==Zg==", "Zm-_"}) {
    EXPECT_FALSE(decoded(text).has_value()) << text;
  }
}

std::string error_of(std::string_view url) {
  const auto bytes = decode_data_url(url);
  return bytes ? "" : bytes.error().message;
}

TEST(DataUrl, IgnoresTheDeclaredType) {
  for (const std::string_view head :
       {"data:image/png;base64,", "data:;base64,", "DATA:text/plain;charset=utf-8;BASE64,",
        "data:image/png; base64,", "data: ;base64 ,"}) {
    const auto bytes = decode_data_url(std::string(head) + "Zm9v");
    ASSERT_TRUE(bytes.has_value()) << head;
    EXPECT_EQ(bytes->size(), 3U);
  }
}

TEST(DataUrl, TakesEscapedBase64) {
  const auto plain = decode_data_url("data:;base64,//79+/8=");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(decode_data_url("data:;base64,%2F%2f79%2B%2F8%3D").value(), *plain);
  EXPECT_EQ(decode_data_url("data:;base64,//79%0D%0A+/8%3d%20").value(), *plain);
  for (const std::string_view bad : {"%", "Zm9v%", "Zm9v%3", "Zm9v%zz", "%00Zm9v", "Zm9v%25"}) {
    EXPECT_NE(error_of("data:;base64," + std::string(bad)).find("not base64"), std::string::npos)
        << bad;
  }
}

TEST(DataUrl, BlanksAroundAUrlAreNotPartOfIt) {
  EXPECT_EQ(trim_blanks(" \r\n\tdata:x \n"), "data:x");
  EXPECT_EQ(trim_blanks("data:x y"), "data:x y");
  EXPECT_EQ(trim_blanks(" \n"), "");
  EXPECT_EQ(trim_blanks(""), "");
}

TEST(DataUrl, SaysWhatIsWrong) {
  EXPECT_NE(error_of("data:image/png;base64"), "");
  EXPECT_NE(error_of("data:image/svg+xml,<svg/>").find("must be base64"), std::string::npos);
  EXPECT_NE(error_of("data:image/png;base64,").find("empty"), std::string::npos);
  EXPECT_NE(error_of("data:image/png;base64,\xC3\xA4").find("not base64"), std::string::npos);
  EXPECT_NE(error_of("data:,Zm9v").find("must be base64"), std::string::npos);
  EXPECT_NE(error_of("data:base64,Zm9v").find("must be base64"), std::string::npos);
}

}  // namespace
}  // namespace deltaserve
