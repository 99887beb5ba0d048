// Cuts normalised text into the pieces that BPE works on, by hand-written matching of the family's
// two regexes. They differ only in whether combining marks (\p{M}) go with letters:
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|
//   ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*
//   |\s*[\r\n]+|\s+(?!\S)|\s+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "text/unicode_classes.h"

namespace deltaserve {

class PreTokenizer {
 public:
  // The matcher of a tokenizer.json's Split regex; nullopt if it is neither of the two.
  static std::optional<PreTokenizer> for_pattern(std::string_view regex);

  // The end of the piece that begins at text[begin]. `text` is valid UTF-8 and stands for all the
  // text the regex sees; `begin` < text.size() is 0 or an earlier result. Reads text once for all
  // pieces, except white space before a newline, which is read twice.
  size_t piece_end(std::string_view text, size_t begin) const;

 private:
  explicit PreTokenizer(bool marks_are_letters);

  size_t skip_letters(std::string_view text, size_t begin) const;
  size_t skip_symbols(std::string_view text, size_t begin) const;
  size_t space_piece_end(std::string_view text, size_t begin) const;

  const UnicodeClasses* classes_;
  uint8_t letters_;      // flags that count as a letter
  uint8_t not_symbols_;  // flags that end a run of symbols
};

}  // namespace deltaserve
