#include "text/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace deltaserve {
namespace {

TEST(StopMatcher, HoldsBackWhatCouldBeAStop) {
  StopMatcher matcher({"STOP"});
  EXPECT_EQ(matcher.push("go ST").text, "go ");
  EXPECT_EQ(matcher.push("ay").text, "STay");
  EXPECT_EQ(matcher.push(" S").text, " ");
  EXPECT_EQ(matcher.finish(), "S");
}

TEST(StopMatcher, CutsBeforeTheStop) {
  StopMatcher matcher({"\n\n", "###"});
  EXPECT_EQ(matcher.push("one\n").text, "one");
  const StopMatcher::Piece piece = matcher.push("\ntwo");
  EXPECT_EQ(piece.text, "");
  EXPECT_EQ(piece.stop, 0U);
  EXPECT_EQ(matcher.push("more").text, "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, TheOneThatEndsFirstWinsThenTheOneThatBeginsFirst) {
  EXPECT_EQ(StopMatcher({"abcd", "bc"}).push("xabcd").stop, 1U);
  const StopMatcher::Piece piece = StopMatcher({"c", "bc", "abc"}).push("xabc");
  EXPECT_EQ(piece.stop, 2U);
  EXPECT_EQ(piece.text, "x");
}

TEST(StopMatcher, FindsAStopThatOverlapsAFailedOne) {
  const StopMatcher::Piece piece = StopMatcher({"aab"}).push("aaab!");
  EXPECT_EQ(piece.text, "a");
  EXPECT_EQ(piece.stop, 0U);
}

TEST(StopMatcher, WithoutStopsTextPassesThrough) {
  StopMatcher matcher({});
  EXPECT_EQ(matcher.push("text").text, "text");
  EXPECT_EQ(matcher.finish(), "");
}

// The definition, on the whole text.
std::pair<std::string, bool> stopped(const std::string& text,
                                     const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return {text.substr(0, end - longest), true};
  }
  return {text, false};
}

TEST(StopMatcher, StreamedEqualsWholeForRandomText) {
  std::mt19937 random(1);
  const auto draw = [&random](size_t longest) {
    std::string text(1 + random() % longest, 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    const std::vector<std::string> stops = {draw(6), draw(6), draw(9)};
    const std::string text = draw(40);
    StopMatcher matcher(stops);
    std::string sent;
    bool found = false;
    for (size_t at = 0; at < text.size();) {
      const size_t length = 1 + random() % 4;
      const StopMatcher::Piece piece = matcher.push(std::string_view(text).substr(at, length));
      sent += piece.text;
      found = found || piece.stop.has_value();
      at += length;
    }
    sent += matcher.finish();
    ASSERT_EQ(std::make_pair(sent, found), stopped(text, stops)) << text;
  }
}

}  // namespace
}  // namespace deltaserve
