// The counter-based generator behind every draw: Philox4x32 with ten rounds (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", 2011).
#include "ops/sampling.h"

#include <algorithm>
#include <array>
#include <functional>

namespace deltaserve {
namespace {

using Counter = std::array<uint32_t, 4>;

Counter philox_round(const Counter& c, uint32_t key0, uint32_t key1) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
  const uint64_t product0 = kMultiplier0 * c[0];
  const uint64_t product1 = kMultiplier1 * c[2];
  return {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(product1),
          static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(product0)};
}

}  // namespace

float uniform_draw(uint64_t seed, int64_t position) {
  constexpr int kRounds = 10;
  constexpr uint32_t kWeyl0 = 0x9E3779B9;  // golden ratio
  constexpr uint32_t kWeyl1 = 0xBB67AE85;  // sqrt(3) - 1
  const auto counter = static_cast<uint64_t>(position);
  Counter c = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    c = philox_round(c, key0, key1);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  constexpr float kUnit = 1.0F / 16777216.0F;  // 2^-24: the quotient is exact and below 1
  return static_cast<float>(c[0] >> 8) * kUnit;
}

std::vector<TokenCount> count_once_more(const SamplingRow& row, int32_t token) {
  std::vector<TokenCount> counts(row.counts, row.counts + row.num_counts);
  if (token < 0) return counts;
  const auto known = std::ranges::find(counts, token, &TokenCount::token);
  if (known != counts.end()) {
    ++known->in_output;
  } else {
    counts.push_back({.token = token, .in_output = 1});
  }
  return counts;
}

}  // namespace deltaserve
