#include "text/utf8.h"

#include <gtest/gtest.h>

namespace deltaserve::utf8 {
namespace {

TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r(kReplacement);
  EXPECT_EQ(repair("plain \xE4\xBD\xA0"), "plain \xE4\xBD\xA0");
  EXPECT_EQ(repair("\xE4\xBD"), r);                      // one truncated character
  EXPECT_EQ(repair("\xE4\xBDx"), r + "x");               // cut short by another character
  EXPECT_EQ(repair("\xC0\xAF"), r + r);                  // overlong form
  EXPECT_EQ(repair("\xED\xA0\x80"), r + r + r);          // surrogate
  EXPECT_EQ(repair("\xF4\x90\x80\x80"), r + r + r + r);  // past U+10FFFF
  EXPECT_EQ(repair("\xF0\x9F\x98\x41"), r + "A");
  EXPECT_EQ(repair("\x80\xFF"), r + r);
}

TEST(Utf8, ValidityAgreesWithRepair) {
  for (const std::string_view text :
       {"", "ascii only, longer than eight", "\xE4\xBD\xA0", "\xF4\x8F\xBF\xBF", "12345678\x80",
        "\xED\x9F\xBF", "\xED\xA0\x80", "\xC2"}) {
    EXPECT_EQ(is_valid(text), repair(text) == text) << text;
  }
}

TEST(Utf8, HoldsBackOnlyATruncatedEnd) {
  std::string out;
  EXPECT_EQ(append_repaired(out, "a\xF0\x9F\x98", true), 1U);
  EXPECT_EQ(out, "a");
  out.clear();
  EXPECT_EQ(append_repaired(out, "a\xF0\x9F\x98 ", true), 5U);
  EXPECT_EQ(out, "a\xEF\xBF\xBD ");
}

TEST(Utf8, AppendAndDecodeAreInverse) {
  for (const char32_t c : {0x0U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xFFFDU, 0x10000U, 0x10FFFFU}) {
    std::string text;
    append(text, c);
    EXPECT_TRUE(is_valid(text));
    EXPECT_EQ(decode_valid(text.data()).code_point, c);
    EXPECT_EQ(decode_valid(text.data()).length, text.size());
  }
}

}  // namespace
}  // namespace deltaserve::utf8
