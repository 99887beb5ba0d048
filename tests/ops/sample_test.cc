// Sampling: what is drawn is what the definition says, by hand-made cases and by statistics.
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/sampling_math.h"
#include "sample_case.h"

namespace deltaserve {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One row for each of `seeds` seeds over the same logits.
std::vector<int32_t> draws(Backend& backend, const std::vector<float>& logits, SamplingRow row,
                           int32_t seeds) {
  std::vector<SamplingRow> rows;
  for (int32_t seed = 0; seed < seeds; ++seed) {
    row.seed = static_cast<uint64_t>(seed);
    rows.push_back(row);
  }
  std::vector<int32_t> tokens;
  const auto V = static_cast<int64_t>(logits.size());
  for (const SampledToken& token : sample(backend, logits, V, rows, 0)) {
    tokens.push_back(token.token);
  }
  return tokens;
}

TEST(UniformDraw, IsPhilox) {
  // Random123's known answer for a zero key and counter: 6627e8d5 is the first word.
  EXPECT_EQ(uniform_draw(0, 0), static_cast<float>(0x6627e8d5U >> 8) / 16777216.0F);
  EXPECT_NE(uniform_draw(0, 1), uniform_draw(0, 0));
  EXPECT_NE(uniform_draw(1, 0), uniform_draw(0, 0));
  EXPECT_NE(uniform_draw(uint64_t{1} << 32, 0), uniform_draw(0, 0));
  EXPECT_NE(uniform_draw(0, int64_t{1} << 32), uniform_draw(0, 0));
}

TEST(UniformDraw, IsUniform) {
  constexpr int kDraws = 100000;
  constexpr int kBins = 64;
  std::vector<int> bins(kBins);
  for (int i = 0; i < kDraws; ++i) {
    const float u = uniform_draw(77, i);
    ASSERT_GE(u, 0.0F);
    ASSERT_LT(u, 1.0F);
    ++bins[static_cast<size_t>(u * kBins)];
  }
  double chi2 = 0.0;
  for (const int count : bins) {
    const double expected = static_cast<double>(kDraws) / kBins;
    chi2 += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi2, 120.0);  // 63 degrees of freedom: 1e-5 of fair generators exceed it
}

TEST(SamplingWeight, IsTheExponential) {
  EXPECT_EQ(sampling_weight(0.0F), kSamplingUnit);
  EXPECT_EQ(sampling_weight(-kInfinity), 0.0F);
  for (float x = -23.9F; x < 0.0F; x += 0.0137F) {
    const double exact = std::exp(static_cast<double>(x)) * 4294967296.0;
    EXPECT_NEAR(sampling_weight(x), exact, exact * 3e-7 + 0.5) << x;
    EXPECT_EQ(sampling_weight(x), std::floor(sampling_weight(x)));
  }
}

class Sample : public SampleCase {};

TEST_P(Sample, GreedyTakesTheLowestIdAmongEquals) {
  std::vector<float> logits(1000, -1.0F);
  logits[700] = logits[701] = logits[999] = 2.5F;
  EXPECT_EQ(sample_both(logits, 1000, {{.temperature = 0.0F}})[0].token, 700);
}

TEST_P(Sample, TopKOfOneIsGreedyAtAnyTemperature) {
  std::vector<float> logits(100, 1.0F);
  logits[60] = std::nextafter(1.0F, 2.0F);  // at temperature 100 the weights are equal
  EXPECT_EQ(sample_both(logits, 100, {{.temperature = 100.0F, .top_k = 1}})[0].token, 60);
}

TEST_P(Sample, TopPOfZeroKeepsTheMostLikely) {
  const std::vector<float> logits = {0.0F, 1.0F, 3.0F, 2.9F};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(sample_both(logits, 4, {{.top_p = 0.0F, .seed = seed}})[0].token, 2);
  }
}

TEST_P(Sample, NonFiniteRowsFailAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {nan, kInfinity}) {
    for (const size_t at : {0U, 63U, 199U}) {
      std::vector<float> logits = random_values(600, 1);
      logits[200 + at] = bad;
      const auto out = sample_both(logits, 200, {{}, {.num_logprobs = 3}, {}});
      EXPECT_TRUE(out[0].finite && out[2].finite);
      EXPECT_FALSE(out[1].finite);
      EXPECT_EQ(out[1].token, -1);
      EXPECT_TRUE(out[1].top.empty());
    }
  }
}

TEST_P(Sample, MinusInfinityIsLegalUnlessNothingIsLeft) {
  std::vector<float> logits(130, -kInfinity);
  EXPECT_FALSE(sample_both(logits, 130, {{}})[0].finite);
  logits[128] = 0.5F;
  for (const float temperature : {0.0F, 1.0F}) {
    const auto out = sample_both(logits, 130, {{.temperature = temperature, .num_logprobs = 0}});
    EXPECT_EQ(out[0].token, 128);
    EXPECT_EQ(out[0].logprob, 0.0F);
  }
}

TEST_P(Sample, NothingAllowedIsReported) {
  const std::vector<uint64_t> none(2, 0);
  const auto out = sample_both(random_values(100, 1), 100, {{.allowed = none.data()}});
  EXPECT_FALSE(out[0].finite);
  EXPECT_EQ(out[0].token, -1);
}

TEST_P(Sample, AppliesBansBiasAndPenalties) {
  const std::vector<float> logits = {5.0F, 4.0F, 3.0F, -1.0F};
  const std::vector<int32_t> banned = {0};
  const std::vector<LogitBias> bias = {{3, 9.0F}};
  const std::vector<TokenCount> counts = {{0, 2}, {1, 0}};
  const auto greedy = [&](SamplingRow row) {
    row.temperature = 0.0F;
    row.counts = counts.data();
    row.num_counts = 2;
    return sample_both(logits, 4, {row})[0].token;
  };
  EXPECT_EQ(greedy({}), 0);
  EXPECT_EQ(greedy({.banned = banned.data(), .num_banned = 1}), 1);
  EXPECT_EQ(greedy({.logit_bias = bias.data(), .num_logit_bias = 1}), 3);
  EXPECT_EQ(greedy({.repetition_penalty = 2.0F}), 2);  // 2.5, 2, 3
  EXPECT_EQ(greedy({.frequency_penalty = 0.6F}), 1);   // 5 - 1.2, 4: the prompt does not count
  EXPECT_EQ(greedy({.presence_penalty = 1.1F}), 1);    // once, although it occurred twice
  EXPECT_EQ(greedy({.presence_penalty = 0.9F}), 0);
}

// Draws follow the exact probabilities of the filtered distribution.
TEST_P(Sample, DrawsFollowTheProbabilities) {
  constexpr int32_t kDraws = 20000;
  const std::vector<float> logits = {1.0F, 0.0F, 2.0F, -1.0F, 0.5F, 1.5F, -kInfinity, 0.2F};
  struct Case {
    SamplingRow row;
    std::vector<int32_t> kept;
  };
  const std::vector<Case> cases = {
      {{}, {0, 1, 2, 3, 4, 5, 7}},
      {{.temperature = 0.5F}, {0, 1, 2, 3, 4, 5, 7}},
      {{.top_k = 3}, {0, 2, 5}},
      {{.top_p = 0.7F}, {0, 2, 5}},                       // 0.39 + 0.24 < 0.7 <= 0.39 + 0.24 + 0.14
      {{.min_p = 0.3F}, {0, 2, 5}},                       // e^-1 is above, e^-1.5 below
      {{.top_p = 0.5F, .top_k = 2, .min_p = 0.3F}, {2}},  // 0.62 of the two
  };
  for (const Case& test : cases) {
    std::vector<double> p(logits.size(), 0.0);
    for (const int32_t token : test.kept) {
      p[static_cast<size_t>(token)] =
          std::exp(logits[static_cast<size_t>(token)] / test.row.temperature);
    }
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    std::vector<double> counts(logits.size(), 0.0);
    for (const int32_t token : draws(*backend_, logits, test.row, kDraws)) {
      counts[static_cast<size_t>(token)] += 1.0;
    }
    double chi2 = 0.0;
    for (size_t i = 0; i < p.size(); ++i) {
      const double expected = kDraws * p[i] / total;
      if (expected == 0.0) {
        EXPECT_EQ(counts[i], 0.0) << "token " << i;
      } else {
        chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
      }
    }
    EXPECT_LT(chi2, 35.0);  // at most 6 degrees of freedom: 5e-6 of fair draws exceed it
  }
}

TEST_P(Sample, DependsOnSeedAndPositionOnly) {
  const std::vector<float> logits = random_values(3000, 4);
  std::vector<float> batch = random_values(2 * 3000, 5);
  batch.insert(batch.end(), logits.begin(), logits.end());
  const SamplingRow row{.seed = 42, .position = 7};
  const int32_t alone = sample(*backend_, logits, 3000, {row})[0].token;
  EXPECT_EQ(sample(*backend_, logits, 3000, {row})[0].token, alone);
  EXPECT_EQ(sample(*backend_, batch, 3000, {{.top_k = 5}, {.seed = 1}, row})[2].token, alone);
}

INSTANTIATE_TEST_SUITE_P(All, Sample, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
