// Two lanes of multiply-and-fold: each 64x64-bit product is folded to 64 bits and crosses into the
// other lane, so that every input bit reaches all 128.
#include "cache/prefix_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace deltaserve {
namespace {

// Fractional bits of the square roots of 2, 3, 5 and 7: odd, and nobody's choice.
constexpr uint64_t kFirst = 0x6A09E667F3BCC909U;
constexpr uint64_t kSecond = 0xBB67AE8584CAA73BU;
constexpr uint64_t kThird = 0x3C6EF372FE94F82BU;
constexpr uint64_t kFourth = 0xA54FF53A5F1D36F1U;

uint64_t fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64U);
}

Hash128 absorb(const Hash128& state, uint64_t a, uint64_t b) {
  const uint64_t low = fold(state.low ^ a ^ kFirst, state.high ^ std::rotl(b, 32) ^ kSecond);
  const uint64_t high = fold(state.high ^ b ^ kThird, state.low ^ std::rotl(a, 32) ^ kFourth);
  return {.low = low ^ std::rotl(state.high, 17) ^ b, .high = high ^ std::rotl(state.low, 41) ^ a};
}

Hash128 finish(const Hash128& state) {
  return absorb(absorb(state, kThird, kFirst), kFourth, kSecond);
}

}  // namespace

Hash128 hash_salt(std::string_view salt, uint64_t seed) {
  Hash128 state{.low = seed ^ kFirst, .high = salt.size() ^ kSecond};
  while (!salt.empty()) {
    uint64_t words[2] = {0, 0};
    const size_t count = std::min(salt.size(), sizeof(words));
    std::memcpy(words, salt.data(), count);
    state = absorb(state, words[0], words[1]);
    salt.remove_prefix(count);
  }
  return finish(state);
}

Hash128 hash_block(const Hash128& before, std::span<const int32_t, kBlockSize> tokens,
                   const Hash128& content) {
  uint64_t words[kBlockSize / 2];
  std::memcpy(words, tokens.data(), sizeof(words));
  Hash128 state = absorb(before, content.low, content.high);
  for (size_t i = 0; i < kBlockSize / 2; i += 2) {
    state = absorb(state, words[i], words[i + 1]);
  }
  return finish(state);
}

Hash128 fold_content(std::span<const ContentKey> keys, int64_t begin, int64_t end) {
  auto key = std::ranges::lower_bound(keys, begin, {}, &ContentKey::position);
  Hash128 state;
  for (; key != keys.end() && key->position < end; ++key) {
    state = absorb(state, key->hash.low, key->hash.high ^ static_cast<uint64_t>(key->position));
  }
  return state;
}

}  // namespace deltaserve
