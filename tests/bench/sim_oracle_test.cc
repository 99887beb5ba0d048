// The simulator's oracle against comparing token by token.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "prefix_oracle.h"

namespace deltaserve {
namespace {

TEST(SimOracle, EqualsComparingAllPairs) {
  std::mt19937_64 random(3);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  PrefixOracle oracle;
  std::vector<std::vector<int32_t>> known;
  for (int i = 0; i < 400; ++i) {
    std::vector<TokenRun> runs;
    for (int64_t k = between(1, 8); k > 0; --k) {
      runs.push_back({.seed = between(1, 3), .count = between(1, 3) * 10});
    }
    // A vocabulary so large that tokens of two seeds never meet.
    const std::vector<int32_t> tokens = to_tokens(runs, 2'000'000'000);
    int64_t best = 0;
    for (const std::vector<int32_t>& other : known) {
      const auto parted =
          std::mismatch(tokens.begin(), tokens.end(), other.begin(), other.end()).first;
      best = std::max<int64_t>(best, parted - tokens.begin());
    }
    EXPECT_EQ(oracle.longest(runs), best);
    oracle.add(runs);
    known.push_back(tokens);
  }
}

}  // namespace
}  // namespace deltaserve
