// Control tokens of the output, and their form inside the parser: one byte each that no UTF-8 text
// contains, so that a tag token and the same characters written as ordinary text stay apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace deltaserve {

enum class ControlToken : uint8_t {
  kNone,
  kThinkOpen,
  kThinkClose,
  kToolCallOpen,
  kToolCallClose,
};

namespace control {

// Bytes from 0xF8 on begin no UTF-8 character.
inline constexpr char kThinkOpen = '\xF8';
inline constexpr char kThinkClose = '\xF9';
inline constexpr char kToolCallOpen = '\xFA';
inline constexpr char kToolCallClose = '\xFB';
inline constexpr std::string_view kAll = "\xF8\xF9\xFA\xFB";

inline bool is_control(char c) {
  return c >= kThinkOpen && c <= kToolCallClose;
}
inline bool is_never_text(char c) {
  return static_cast<uint8_t>(c) >= 0xF8;
}

char to_byte(ControlToken token);         // not for kNone
std::string_view literal(char c);         // "<think>", ...
std::string_view literal(ControlToken);   // "" for kNone
std::string expand(std::string_view in);  // control bytes written out

// `text` with bytes that never occur in UTF-8 replaced by U+FFFD, so that none poses as a control.
void append_text(std::string_view text, std::string& out);

}  // namespace control

// Which ids of a vocabulary are control tokens.
class ControlTokenIds {
 public:
  explicit ControlTokenIds(const Tokenizer& tokenizer);
  ControlToken kind(int32_t id) const;

 private:
  std::vector<std::pair<int32_t, ControlToken>> ids_;  // at most four
};

}  // namespace deltaserve
