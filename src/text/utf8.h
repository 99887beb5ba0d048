// UTF-8 in bytes: validation, lossy repair and decoding. Invalid bytes are replaced as Python's
// errors="replace" and Rust's from_utf8_lossy do it: one U+FFFD for each longest beginning of a
// character (Unicode standard, chapter 3, "substitution of maximal subparts").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace deltaserve::utf8 {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class UnitKind : uint8_t {
  kCharacter,  // a whole, valid character
  kInvalid,    // bytes that no continuation makes valid
  kTruncated,  // the end of the text cuts a character short
};

struct Unit {
  uint32_t length = 0;  // bytes, 1 to 4
  UnitKind kind = UnitKind::kInvalid;
};

// What begins at text[begin]; `begin` < text.size().
Unit unit_at(std::string_view text, size_t begin);

// The first byte at or after `begin` that is not ASCII, or text.size().
size_t skip_ascii(std::string_view text, size_t begin);

bool is_valid(std::string_view text);

// Appends `text` to `out` with invalid bytes replaced. With `hold_back` a truncated character at
// the end is left out; returns how many bytes of `text` were used.
size_t append_repaired(std::string& out, std::string_view text, bool hold_back);

// `text` with every invalid stretch replaced.
std::string repair(std::string_view text);

struct Decoded {
  char32_t code_point = 0;
  uint32_t length = 0;
};

// The character at `p`, which must begin a valid one.
inline Decoded decode_valid(const char* p) {
  const auto byte = [p](int i) { return static_cast<uint32_t>(static_cast<unsigned char>(p[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

inline bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

void append(std::string& out, char32_t code_point);

}  // namespace deltaserve::utf8
