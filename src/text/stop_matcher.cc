// See stop_matcher.h. Knuth-Morris-Pratt for each stop string: the work for a byte is constant on
// average, and the matched length says how much text must be held back.
#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace deltaserve {

StopMatcher::Pattern::Pattern(std::string stop) : text(std::move(stop)), borders(text.size()) {
  DS_CHECK(!text.empty(), "a stop string must not be empty");
  size_t length = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    while (length > 0 && text[i] != text[length]) length = borders[length - 1];
    if (text[i] == text[length]) ++length;
    borders[i] = length;
  }
}

// Returns true when `byte` completes the string.
bool StopMatcher::Pattern::advance(char byte) {
  while (matched > 0 && text[matched] != byte) matched = borders[matched - 1];
  if (text[matched] == byte) ++matched;
  return matched == text.size();
}

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  patterns_.reserve(stops.size());
  for (std::string& stop : stops) patterns_.emplace_back(std::move(stop));
}

StopMatcher::Piece StopMatcher::push(std::string_view text) {
  if (stopped_) return {};
  Piece piece{std::move(held_), std::nullopt};
  held_.clear();
  for (const char byte : text) {
    piece.text.push_back(byte);
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (!patterns_[i].advance(byte)) continue;
      const bool begins_first =
          !piece.stop || patterns_[i].text.size() > patterns_[*piece.stop].text.size();
      if (begins_first) piece.stop = i;
    }
    if (piece.stop) {
      stopped_ = true;
      piece.text.resize(piece.text.size() - patterns_[*piece.stop].text.size());
      return piece;
    }
  }
  size_t held = 0;
  for (const Pattern& pattern : patterns_) held = std::max(held, pattern.matched);
  held_ = piece.text.substr(piece.text.size() - held);
  piece.text.resize(piece.text.size() - held);
  return piece;
}

std::string StopMatcher::finish() {
  stopped_ = true;
  return std::exchange(held_, {});
}

}  // namespace deltaserve
