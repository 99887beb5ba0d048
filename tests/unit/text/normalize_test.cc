#include "text/normalize.h"

#include <gtest/gtest.h>

#include <chrono>

namespace deltaserve {
namespace {

TEST(NormalizeNfc, ComposesAndReorders) {
  EXPECT_EQ(normalize_nfc("plain"), "plain");
  EXPECT_EQ(normalize_nfc("cafe\u0301"), "caf\u00E9");
  EXPECT_EQ(normalize_nfc("\u212B"), "\u00C5");
  EXPECT_EQ(normalize_nfc("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(normalize_nfc("a\u0302\u0323"), "\u1EAD");
  EXPECT_EQ(normalize_nfc("\u1100\u1161\u11A8"), "\uAC01");
  EXPECT_EQ(normalize_nfc("\u0958"), "\u0915\u093C");  // excluded from composition
  EXPECT_EQ(normalize_nfc("\U0001D15E"), "\U0001D157\U0001D165");
}

TEST(NormalizeNfc, LeavesCharactersAfterUnicode9Alone) {
  EXPECT_EQ(normalize_nfc("\U00011935\U00011930"), "\U00011935\U00011930");
  EXPECT_EQ(normalize_nfc("a\u07FD\u0316"), "a\u07FD\u0316");
}

TEST(NormalizeNfc, KeepsTheConsonantBaseThatIsNoTrailingConsonant) {
  EXPECT_EQ(normalize_nfc("\uAC00\u11A7"), "\uAC00\u11A7");
}

TEST(NormalizeNfc, FindsWhereTextMayChange) {
  EXPECT_EQ(find_nfc_candidate("caf\u00E9 \u4F60", 0), 9U);
  EXPECT_EQ(find_nfc_candidate("cafe\u0301", 0), 4U);
}

TEST(NormalizeNfc, ReportsEdits) {
  std::vector<NfcEdit> edits;
  EXPECT_EQ(normalize_nfc("xe\u0301y q\u0323 A\u030A", &edits), "x\u00E9y q\u0323 \u00C5");
  ASSERT_EQ(edits.size(), 2U);
  EXPECT_EQ(edits[0].input_begin, 1U);
  EXPECT_EQ(edits[0].input_end, 4U);
  EXPECT_EQ(edits[0].output_begin, 1U);
  EXPECT_EQ(edits[0].output_end, 3U);
  EXPECT_EQ(edits[1].input_begin, 10U);
  EXPECT_EQ(edits[1].output_begin, 9U);
}

TEST(NormalizeNfc, ManyMarksTakeLinearithmicTime) {
  std::string text = "a";
  for (int i = 0; i < 200000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0316";
  const auto start = std::chrono::steady_clock::now();
  const std::string normalized = normalize_nfc(text);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_TRUE(normalized.starts_with("\u00E1\u0316\u0316"));
}

}  // namespace
}  // namespace deltaserve
