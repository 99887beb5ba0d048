// The dictionary is a table of (previous code, last byte): a code's string is written backwards
// into its place, whose length is known.
#include "media/gif_lzw.h"

#include <array>
#include <cstddef>
#include <optional>

namespace deltaserve {
namespace {

constexpr uint32_t kMaxCodeBits = 12;
constexpr uint32_t kNumCodes = 1U << kMaxCodeBits;
constexpr uint32_t kNoCode = kNumCodes;

// Codes of varying width, low bits first, out of the chain of sub-blocks.
class CodeReader {
 public:
  explicit CodeReader(Bytes blocks) : rest_(blocks) {}

  std::optional<uint32_t> next(uint32_t bits) {
    while (num_bits_ < bits) {
      if (block_left_ == 0 && !open_block()) return std::nullopt;
      if (rest_.empty()) return std::nullopt;
      buffer_ |= uint32_t{rest_[0]} << num_bits_;
      rest_ = rest_.subspan(1);
      --block_left_;
      num_bits_ += 8;
    }
    const uint32_t code = buffer_ & ((1U << bits) - 1);
    buffer_ >>= bits;
    num_bits_ -= bits;
    return code;
  }

 private:
  bool open_block() {
    if (rest_.empty() || rest_[0] == 0) return false;
    block_left_ = rest_[0];
    rest_ = rest_.subspan(1);
    return true;
  }

  Bytes rest_;
  size_t block_left_ = 0;
  uint32_t buffer_ = 0;
  uint32_t num_bits_ = 0;  // at most 11 left over and 8 more
};

struct Dictionary {
  explicit Dictionary(uint32_t min_bits) : clear(1U << min_bits), size(clear + 2) {
    for (uint32_t i = 0; i < clear; ++i) last[i] = first[i] = static_cast<uint8_t>(i);
    length.fill(1);
  }

  // The string of `before` and one byte more.
  void add(uint32_t before, uint8_t byte) {
    previous[size] = static_cast<uint16_t>(before);
    last[size] = byte;
    first[size] = first[before];
    length[size] = static_cast<uint16_t>(length[before] + 1);
    ++size;
  }

  // As much of the string as `out` has room for; returns how much.
  size_t write(uint32_t code, std::span<uint8_t> out) const {
    const size_t whole = length[code];
    for (size_t i = whole; i-- > 0; code = previous[code]) {
      if (i < out.size()) out[i] = last[code];
    }
    return whole < out.size() ? whole : out.size();
  }

  uint32_t clear;  // the code that empties the dictionary; clear + 1 ends the data
  uint32_t size;
  std::array<uint16_t, kNumCodes> previous{};
  std::array<uint16_t, kNumCodes> length{};
  std::array<uint8_t, kNumCodes> first{};
  std::array<uint8_t, kNumCodes> last{};
};

}  // namespace

bool decode_gif_lzw(Bytes data, std::span<uint8_t> out) {
  if (data.empty() || data[0] < 1 || data[0] > 8) return false;
  const uint32_t min_bits = data[0];
  CodeReader reader(data.subspan(1));
  Dictionary words(min_bits);
  uint32_t bits = min_bits + 1;
  uint32_t before = kNoCode;
  size_t written = 0;
  while (written < out.size()) {
    const std::optional<uint32_t> code = reader.next(bits);
    if (!code || *code == words.clear + 1) return false;
    if (*code == words.clear) {
      words.size = words.clear + 2;
      bits = min_bits + 1;
      before = kNoCode;
      continue;
    }
    const bool is_new = *code == words.size;  // the string that is only now being added
    if (*code > words.size || (is_new && before == kNoCode)) return false;
    if (before != kNoCode && words.size < kNumCodes) {
      words.add(before, words.first[is_new ? before : *code]);
    }
    if (words.size == 1U << bits && bits < kMaxCodeBits) ++bits;
    written += words.write(*code, out.subspan(written));
    before = *code;
  }
  return true;
}

}  // namespace deltaserve
