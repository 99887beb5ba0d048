// Stop strings over streamed text. Text that could be the beginning of a stop string is held back
// until it is decided, so nothing of a stop string ever leaves the server.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deltaserve {

class StopMatcher {
 public:
  // Empty strings are ignored by the caller's validation and must not be passed.
  explicit StopMatcher(std::vector<std::string> stops);

  struct Piece {
    std::string text;            // may be sent now
    std::optional<size_t> stop;  // index of the stop string that ended the text
  };

  // Adds text. After a stop was found further calls return empty pieces. When several stop strings
  // match, the one that ends first wins, then the one that begins first.
  Piece push(std::string_view text);

  // Releases what was held back: the sequence ended without completing a stop string.
  std::string finish();

 private:
  struct Pattern {
    explicit Pattern(std::string stop);
    bool advance(char byte);

    std::string text;
    std::vector<size_t> borders;  // [i]: longest proper prefix of text that ends at text[i]
    size_t matched = 0;           // bytes of text that the input ends with; < text.size()
  };

  std::vector<Pattern> patterns_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace deltaserve
