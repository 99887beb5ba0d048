// See byte_alphabet.h.
#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace deltaserve {
namespace {

constexpr uint32_t kFirstExtra = 0x100;
constexpr uint32_t kAlphabetEnd = 0x144;  // 256 + the 68 bytes that are not printable
constexpr int16_t kNoByte = -1;

constexpr bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr std::array<uint16_t, 256> make_characters() {
  std::array<uint16_t, 256> characters{};
  uint32_t next = kFirstExtra;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    characters[byte] = static_cast<uint16_t>(stands_for_itself(byte) ? byte : next++);
  }
  return characters;
}

constexpr std::array<uint16_t, 256> kCharacters = make_characters();

constexpr std::array<int16_t, kAlphabetEnd> make_bytes() {
  std::array<int16_t, kAlphabetEnd> bytes{};
  bytes.fill(kNoByte);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    bytes[kCharacters[byte]] = static_cast<int16_t>(byte);
  }
  return bytes;
}

constexpr std::array<int16_t, kAlphabetEnd> kBytes = make_bytes();

}  // namespace

std::optional<std::string> bytes_from_alphabet(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded character = utf8::decode_valid(text.data() + i);
    if (character.code_point >= kAlphabetEnd || kBytes[character.code_point] == kNoByte) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(kBytes[character.code_point]));
    i += character.length;
  }
  return bytes;
}

std::string alphabet_from_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) utf8::append(text, kCharacters[static_cast<unsigned char>(byte)]);
  return text;
}

}  // namespace deltaserve
