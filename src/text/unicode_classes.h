// What the tokenizer needs to know of a code point, as one byte of flags. The answers are those of
// the `tokenizers` library (Unicode 16 letters, Unicode 9 normalisation), whichever version of
// Unicode other libraries here carry: see tools/oracles/text_unicode_classes.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace deltaserve {

enum CharFlag : uint8_t {
  kLetter = 1,      // \p{L}
  kMark = 2,        // \p{M}
  kNumber = 4,      // \p{N}
  kSpace = 8,       // \s
  kWord = 16,       // \w of an added token's single_word test
  kNfcBase = 32,    // may change under NFC when an active character follows
  kNfcActive = 64,  // may change under NFC, or change what stands before it
};

class UnicodeClasses {
 public:
  // The table, built at the first call (about 0.1 ms).
  static const UnicodeClasses& get();

  // Flags of a code point up to U+10FFFF.
  uint8_t flags(char32_t code_point) const {
    return blocks_[size_t{index_[code_point >> kBlockBits]} << kBlockBits |
                   (code_point & (kBlockSize - 1))];
  }

 private:
  static constexpr uint32_t kBlockBits = 7;  // 128 code points a block: about 190 distinct blocks
  static constexpr uint32_t kBlockSize = 1U << kBlockBits;
  static constexpr uint32_t kCodePoints = 0x110000;

  UnicodeClasses();

  std::array<uint16_t, kCodePoints / kBlockSize> index_{};
  std::vector<uint8_t> blocks_;
};

}  // namespace deltaserve
