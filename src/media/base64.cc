// A table of 256 entries says what a character is; four digits make three bytes.
#include "media/base64.h"

#include <array>
#include <cstddef>

namespace deltaserve {
namespace {

constexpr uint8_t kOther = 64;
constexpr uint8_t kSkip = 65;

constexpr std::array<uint8_t, 256> make_table() {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<uint8_t, 256> table{};
  table.fill(kOther);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    table[static_cast<uint8_t>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  for (const char c : {' ', '\t', '\r', '\n'}) table[static_cast<uint8_t>(c)] = kSkip;
  return table;
}

constexpr std::array<uint8_t, 256> kTable = make_table();

// Without the padding and the blanks around it; none if there is too much padding.
std::optional<std::string_view> strip_padding(std::string_view text) {
  size_t padding = 0;
  while (!text.empty()) {
    const char last = text.back();
    if (last == '=') {
      ++padding;
    } else if (kTable[static_cast<uint8_t>(last)] != kSkip) {
      break;
    }
    text.remove_suffix(1);
  }
  return padding <= 2 ? std::optional(text) : std::nullopt;
}

}  // namespace

std::optional<std::vector<uint8_t>> decode_base64(std::string_view text) {
  const auto digits = strip_padding(text);
  if (!digits) return std::nullopt;
  std::vector<uint8_t> out;
  out.reserve(digits->size() / 4 * 3 + 2);
  uint32_t buffer = 0;
  uint32_t held = 0;  // digits in `buffer`
  for (const char c : *digits) {
    const uint8_t value = kTable[static_cast<uint8_t>(c)];
    if (value == kSkip) continue;
    if (value == kOther) return std::nullopt;
    buffer = buffer << 6 | value;
    if (++held == 4) {
      for (const uint32_t shift : {16U, 8U, 0U}) {
        out.push_back(static_cast<uint8_t>(buffer >> shift));
      }
      held = 0;
    }
  }
  if (held == 1) return std::nullopt;
  for (uint32_t i = 1; i < held; ++i) {
    out.push_back(static_cast<uint8_t>(buffer >> (6 * held - 8 * i)));
  }
  return out;
}

}  // namespace deltaserve
