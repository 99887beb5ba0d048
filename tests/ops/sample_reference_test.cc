// Sampling: every backend draws exactly what the reference draws.
#include <algorithm>
#include <random>

#include "sample_case.h"

namespace deltaserve {
namespace {

class SampleReference : public SampleCase {};

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

TEST_P(SampleReference, DrawsTheTokenOfTheReferenceForRandomParameters) {
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

TEST_P(SampleReference, DrawsTheTokenOfTheReferenceOverAWholeVocabulary) {
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
TEST_P(SampleReference, SmallTopKDrawsTheTokenOfTheReference) {
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

// Where top_p cuts a large vocabulary may be guessed from a part of it: the part tells the truth, a
// lie (all other weights are larger or smaller), or nothing (they are equal).
TEST_P(SampleReference, TopPCutsLargeVocabulariesExactly) {
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

INSTANTIATE_TEST_SUITE_P(All, SampleReference, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
