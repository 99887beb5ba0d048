// A set of bytes: the alphabet of every grammar. Text is UTF-8; bytes from 0xF8 on, which no UTF-8
// contains, stand for control tokens and for the two ends of a text.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace deltaserve {

inline constexpr uint8_t kFirstControlByte = 0xF8;

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

  // The smallest byte of a set that is not empty.
  constexpr uint8_t first() const {
    size_t word = 0;
    while (words_[word] == 0) ++word;
    return static_cast<uint8_t>(word * 64 + static_cast<size_t>(std::countr_zero(words_[word])));
  }
  template <typename Visit>
  constexpr void for_each(Visit visit) const {
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t left = words_[word]; left != 0; left &= left - 1) {
        visit(static_cast<uint8_t>(word * 64 + static_cast<size_t>(std::countr_zero(left))));
      }
    }
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
