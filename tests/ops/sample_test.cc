// Sampling: every backend draws exactly what the reference draws, and the reference draws what
// the definition says: checked by hand-made cases and by statistics.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "conformance.h"
#include "ops/reference/reference_backend.h"
#include "ops/sampling_math.h"

namespace deltaserve {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<SampledToken> sample(Backend& backend, const std::vector<float>& logits, int64_t V,
                                 const std::vector<SamplingRow>& rows, int64_t stride = 0) {
  stride = stride == 0 ? V : stride;
  DeviceTensor device_logits(backend, DType::kF32, logits);
  std::vector<SampledToken> out(rows.size());
  backend.sample({.B = static_cast<int64_t>(rows.size()),
                  .V = V,
                  .logits = device_logits.floats(),
                  .logits_stride = stride,
                  .rows = rows.data(),
                  .out = out.data()});
  return out;
}

// One row for each of `seeds` seeds over the same logits.
std::vector<int32_t> draws(Backend& backend, const std::vector<float>& logits, SamplingRow row,
                           int32_t seeds) {
  std::vector<SamplingRow> rows;
  for (int32_t seed = 0; seed < seeds; ++seed) {
    row.seed = static_cast<uint64_t>(seed);
    rows.push_back(row);
  }
  DeviceTensor device_logits(backend, DType::kF32, logits);
  std::vector<SampledToken> out(rows.size());
  backend.sample({.B = seeds,
                  .V = static_cast<int64_t>(logits.size()),
                  .logits = device_logits.floats(),
                  .logits_stride = 0,  // every row reads the same logits
                  .rows = rows.data(),
                  .out = out.data()});
  std::vector<int32_t> tokens;
  for (const SampledToken& token : out) {
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

class Sample : public testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    backend_ = make_case_backend(GetParam());
    reference_ = make_reference_backend(GetParam().x_dtype);
  }

  // Both backends give the same tokens; returns them.
  std::vector<SampledToken> sample_both(const std::vector<float>& logits, int64_t V,
                                        const std::vector<SamplingRow>& rows, int64_t stride = 0) {
    const auto actual = sample(*backend_, logits, V, rows, stride);
    const auto expected = sample(*reference_, logits, V, rows, stride);
    for (size_t b = 0; b < rows.size(); ++b) {
      EXPECT_EQ(actual[b].token, expected[b].token) << "row " << b;
      EXPECT_EQ(actual[b].finite, expected[b].finite) << "row " << b;
      EXPECT_NEAR(actual[b].logprob, expected[b].logprob, 2e-6) << "row " << b;
      EXPECT_EQ(actual[b].top.size(), expected[b].top.size()) << "row " << b;
      for (size_t i = 0; i < std::min(actual[b].top.size(), expected[b].top.size()); ++i) {
        EXPECT_EQ(actual[b].top[i].token, expected[b].top[i].token);
        EXPECT_NEAR(actual[b].top[i].logprob, expected[b].top[i].logprob, 2e-6);
      }
    }
    return expected;
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Backend> reference_;
};

// Everything that a SamplingRow points to.
struct RandomRow {
  SamplingRow row;
  std::vector<TokenCount> counts;
  std::vector<LogitBias> bias;
  std::vector<int32_t> banned;
  std::vector<uint64_t> allowed;
};

template <typename T>
T pick(std::mt19937& random, const std::vector<T>& values) {
  return values[random() % values.size()];
}

RandomRow random_row(std::mt19937& random, int64_t V) {
  RandomRow out;
  SamplingRow& row = out.row;
  row.temperature = pick<float>(random, {0.0F, 0.1F, 0.6F, 1.0F, 1.0F, 2.5F});
  row.top_p = pick<float>(random, {0.0F, 0.3F, 0.95F, 0.999F, 1.0F, 1.0F});
  row.top_k = pick<int32_t>(random, {0, 0, 1, 20, 500, static_cast<int32_t>(V) + 7});
  row.min_p = pick<float>(random, {0.0F, 0.0F, 0.05F, 1.0F});
  row.repetition_penalty = pick<float>(random, {1.0F, 1.3F, 0.8F});
  row.frequency_penalty = pick<float>(random, {0.0F, 0.5F, -0.5F});
  row.presence_penalty = pick<float>(random, {0.0F, 1.5F});
  row.seed = random();
  row.position = static_cast<int64_t>(random() % 1000);
  row.num_logprobs = pick<int32_t>(random, {-1, 0, 5, 20});
  const auto token = [&] {
    return static_cast<int32_t>(random() % static_cast<uint64_t>(V + 3));  // padding ids too
  };
  for (auto i = random() % 60; i > 0; --i) {
    out.counts.push_back({token(), static_cast<int32_t>(random() % 4)});
  }
  for (auto i = random() % 4; i > 0; --i) {
    out.bias.push_back({token(), pick<float>(random, {-100.0F, 3.0F, 10.0F})});
  }
  for (auto i = random() % 3; i > 0; --i) {
    out.banned.push_back(token());
  }
  if (random() % 3 == 0) {
    const bool few = random() % 2 == 0;
    for (int64_t i = 0; i < (V + 63) / 64; ++i) {
      const uint64_t word = uint64_t{random()} << 32 | random();
      out.allowed.push_back(few && i % 50 != 0 ? 0 : word);
    }
  }
  return out;
}

SamplingRow bound(const RandomRow& source) {
  SamplingRow row = source.row;
  row.counts = source.counts.data();
  row.num_counts = static_cast<int32_t>(source.counts.size());
  row.logit_bias = source.bias.data();
  row.num_logit_bias = static_cast<int32_t>(source.bias.size());
  row.banned = source.banned.data();
  row.num_banned = static_cast<int32_t>(source.banned.size());
  row.allowed = source.allowed.empty() ? nullptr : source.allowed.data();
  return row;
}

TEST_P(Sample, DrawsTheTokenOfTheReferenceForRandomParameters) {
  std::mt19937 random(11);
  for (const int64_t V : {1, 5, 64, 511, 20011}) {
    const int64_t stride = V + 13;  // padding rows of the head: never drawn
    std::vector<RandomRow> sources;
    std::vector<SamplingRow> rows;
    std::vector<float> logits;
    for (int b = 0; b < 40; ++b) {
      sources.push_back(random_row(random, V));
      auto values = random_values(static_cast<size_t>(stride), static_cast<uint32_t>(b),
                                  pick<float>(random, {0.0F, 0.5F, 4.0F}));
      for (float& value : values) {  // ties, as a head in bfloat16 gives them
        value = to_float(to_bfloat16(value));
      }
      std::fill(values.begin() + V, values.end(), 100.0F);
      logits.insert(logits.end(), values.begin(), values.end());
    }
    for (const RandomRow& source : sources) {
      rows.push_back(bound(source));
    }
    for (const SampledToken& token : sample_both(logits, V, rows, stride)) {
      EXPECT_LT(token.token, V);
    }
  }
}

TEST_P(Sample, DrawsTheTokenOfTheReferenceOverAWholeVocabulary) {
  constexpr int64_t kV = 248077;
  for (const float scale : {0.01F, 1.0F, 3.0F}) {
    const std::vector<float> logits = random_values(kV, 3, scale);
    for (const SamplingRow& row :
         {SamplingRow{.temperature = 0.0F}, SamplingRow{.seed = 1}, SamplingRow{.top_p = 0.9F},
          SamplingRow{.temperature = 0.7F, .top_p = 0.95F, .top_k = 20, .num_logprobs = 20},
          SamplingRow{.min_p = 0.1F, .seed = 2}, SamplingRow{.top_k = 5000, .seed = 3}}) {
      sample_both(logits, kV, {row});
    }
  }
}

// Small values of top_k over a head in bfloat16, whose equals lie across the cut, and over rows
// that leave fewer tokens than top_k: with and without a mask, peaked and flat.
TEST_P(Sample, SmallTopKDrawsTheTokenOfTheReference) {
  constexpr int64_t kV = 30011;
  std::vector<uint64_t> allowed(kV / 64 + 1);
  allowed[3] = 5;
  allowed[400] = 1;
  allowed[kV / 64] = 4;
  for (const float scale : {0.0F, 0.02F, 4.0F}) {
    std::vector<float> logits = random_values(kV, 5, scale);
    for (float& value : logits) {
      value = to_float(to_bfloat16(value));
    }
    std::vector<SamplingRow> rows;
    for (const int32_t top_k : {1, 2, 20, 64, 127, 128, 129, 300}) {
      for (const float top_p : {0.5F, 0.95F, 1.0F}) {
        const auto seed = static_cast<uint64_t>(rows.size());
        rows.push_back({.temperature = 0.7F, .top_p = top_p, .top_k = top_k, .seed = seed});
        rows.push_back({.top_p = top_p, .top_k = top_k, .min_p = 0.9F, .num_logprobs = top_k});
        rows.push_back({.top_p = top_p, .top_k = top_k, .num_logprobs = 3});
        rows.back().allowed = allowed.data();
      }
    }
    std::vector<float> all;
    for (size_t b = 0; b < rows.size(); ++b) {
      all.insert(all.end(), logits.begin(), logits.end());
    }
    sample_both(all, kV, rows);
  }
}

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

// Where top_p cuts a large vocabulary may be guessed from a part of it: the part tells the truth, a
// lie (all other weights are larger or smaller), or nothing (they are equal).
TEST_P(Sample, TopPCutsLargeVocabulariesExactly) {
  constexpr int64_t kV = 40003;
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0.0F, 2.5F);
  std::vector<float> flat(kV);
  std::generate(flat.begin(), flat.end(), [&] { return normal(random); });
  std::vector<float> sorted = flat;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<float> misleading = flat;
  for (size_t i = 0; i < misleading.size(); ++i) {
    misleading[i] += i / 64 % 32 == 0 ? 6.0F : 0.0F;
  }
  std::vector<float> peaked(kV, -20.0F);
  peaked[64] = 1.0F;
  peaked[65] = 0.5F;
  peaked[kV - 1] = 0.0F;
  const std::vector<float> equal(kV, 0.25F);
  for (const auto& logits : {flat, sorted, misleading, peaked, equal}) {
    std::vector<SamplingRow> rows;
    for (const float top_p : {0.0F, 0.3F, 0.95F, 0.9999F}) {
      rows.push_back({.temperature = 0.9F, .top_p = top_p, .seed = rows.size()});
      rows.push_back({.top_p = top_p, .min_p = 0.001F, .seed = rows.size()});
    }
    std::vector<float> all;
    for (size_t b = 0; b < rows.size(); ++b) {
      all.insert(all.end(), logits.begin(), logits.end());
    }
    sample_both(all, kV, rows);
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
