// A set of bytes: the alphabet of every grammar. Text is UTF-8; bytes from 0xF8 on, which no UTF-8
// contains, stand for control tokens and for the two ends of a text.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace deltaserve {

class ByteSet {
 public:
  constexpr ByteSet() = default;

  static constexpr ByteSet of(uint8_t byte) { return range(byte, byte); }
  static constexpr ByteSet range(uint8_t low, uint8_t high) {  // both inside
    ByteSet set;
    for (unsigned byte = low; byte <= high; ++byte) {
      set.words_[byte >> 6] |= uint64_t{1} << (byte & 63);
    }
    return set;
  }
  static constexpr ByteSet all() { return range(0, 255); }

  constexpr bool contains(uint8_t byte) const {
    return (words_[byte >> 6] >> (byte & 63) & 1) != 0;
  }
  constexpr bool empty() const { return *this == ByteSet(); }
  constexpr int count() const {
    int sum = 0;
    for (const uint64_t word : words_) sum += std::popcount(word);
    return sum;
  }

  constexpr ByteSet operator|(const ByteSet& other) const {
    ByteSet set;
    for (size_t i = 0; i < 4; ++i) set.words_[i] = words_[i] | other.words_[i];
    return set;
  }
  constexpr ByteSet operator&(const ByteSet& other) const {
    ByteSet set;
    for (size_t i = 0; i < 4; ++i) set.words_[i] = words_[i] & other.words_[i];
    return set;
  }
  constexpr ByteSet operator~() const {
    ByteSet set;
    for (size_t i = 0; i < 4; ++i) set.words_[i] = ~words_[i];
    return set;
  }
  constexpr bool operator==(const ByteSet& other) const = default;

  constexpr const std::array<uint64_t, 4>& words() const { return words_; }

 private:
  std::array<uint64_t, 4> words_ = {};
};

}  // namespace deltaserve
