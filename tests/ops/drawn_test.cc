// Draws in two halves, two of them open at once, and their tokens as input ids.
#include <gtest/gtest.h>

#include <limits>

#include "conformance.h"

namespace deltaserve {
namespace {

constexpr int64_t kVocab = 1003;

class Drawn : public testing::TestWithParam<BackendCase> {
 protected:
  // A draw of `count` rows of its own logits.
  struct Draw {
    Draw(Backend& backend, int64_t count, uint32_t seed)
        : logits(backend, DType::kF32, random_values(static_cast<size_t>(count * kVocab), seed)),
          rows(static_cast<size_t>(count)),
          sampled(static_cast<size_t>(count)) {
      for (size_t b = 0; b < rows.size(); ++b) {
        rows[b].seed = seed + b;
        rows[b].top_k = b % 3 == 0 ? 20 : 0;
        rows[b].num_logprobs = b % 4 == 1 ? 3 : -1;
        rows[b].banned = &kBanned;
        rows[b].num_banned = b % 2 == 0 ? 1 : 0;
      }
    }
    SampleArgs args() {
      return {.B = static_cast<int64_t>(rows.size()),
              .V = kVocab,
              .logits = logits.floats(),
              .logits_stride = kVocab,
              .rows = rows.data(),
              .out = sampled.data()};
    }
    static constexpr int32_t kBanned = 5;
    DeviceTensor logits;
    std::vector<SamplingRow> rows;
    std::vector<SampledToken> sampled;
  };

  static std::vector<int32_t> tokens(const std::vector<SampledToken>& sampled) {
    std::vector<int32_t> out;
    for (const SampledToken& token : sampled) out.push_back(token.token);
    return out;
  }

  void SetUp() override { backend_ = make_case_backend(GetParam()); }
  std::unique_ptr<Backend> backend_;
};

TEST_P(Drawn, TwoOpenDrawsEndInTheirOrderAndAsSampleDoes) {
  // More rows than a launch takes, and fewer in the second draw.
  Draw first(*backend_, 70, 1);
  Draw second(*backend_, 9, 2);
  backend_->begin_sample(first.args());
  backend_->begin_sample(second.args());
  first.rows.assign(70, {});  // was read
  backend_->end_sample(first.sampled);
  backend_->end_sample(second.sampled);
  Draw again(*backend_, 70, 1);
  backend_->sample(again.args());
  EXPECT_EQ(tokens(first.sampled), tokens(again.sampled));
  for (size_t b = 0; b < 70; ++b) {
    EXPECT_EQ(first.sampled[b].logprob, again.sampled[b].logprob);
    ASSERT_EQ(first.sampled[b].top.size(), b % 4 == 1 ? 3U : 0U);
    for (size_t i = 0; i < first.sampled[b].top.size(); ++i) {
      EXPECT_EQ(first.sampled[b].top[i].token, again.sampled[b].top[i].token);
    }
  }
  Draw last(*backend_, 9, 2);
  backend_->begin_sample(last.args());
  backend_->end_sample(last.sampled);
  EXPECT_EQ(tokens(last.sampled), tokens(second.sampled));
}

TEST_P(Drawn, TokensBecomeInputIds) {
  Draw first(*backend_, 4, 3);
  Draw second(*backend_, 200, 4);
  const DeviceArray<int32_t> rows(*backend_, {2, -1, 199, 0, 67});
  const DeviceArray<int32_t> ids(*backend_, {10, 11, 12, 13, 14});
  backend_->begin_sample(first.args());
  backend_->begin_sample(second.args());
  backend_->take_drawn({.T = 5, .rows = rows.data(), .ids = ids.data()});
  backend_->end_sample(first.sampled);
  backend_->end_sample(second.sampled);
  const std::vector<int32_t> drawn = tokens(second.sampled);
  EXPECT_EQ(ids.values(), (std::vector<int32_t>{drawn[2], 11, drawn[199], drawn[0], drawn[67]}));
}

// A large reward for every occurrence makes a row repeat what it counts, so that the token that was
// drawn comes again if, and only if, it is counted.
TEST_P(Drawn, TokensAreCountedForPenalties) {
  Draw first(*backend_, 70, 6);
  backend_->sample(first.args());
  const std::vector<int32_t> drawn = tokens(first.sampled);
  backend_->begin_sample(first.args());
  Draw second(*backend_, 6, 7);
  std::vector<std::vector<TokenCount>> counts(6);
  for (int32_t b = 0; b < 6; ++b) {
    const auto i = static_cast<size_t>(b);
    for (int32_t token = 0; token < 100 * b; token += 3) {
      if (token != drawn[11 * i]) counts[i].push_back({.token = token, .in_output = b % 2});
    }
    if (b % 2 == 1) counts[i].push_back({.token = drawn[11 * i], .in_output = 1});
    SamplingRow& row = second.rows[i];
    row = {.temperature = 0.0F, .frequency_penalty = -50.0F};
    row.counts = counts[i].data();
    row.num_counts = static_cast<int32_t>(counts[i].size());
    row.drawn_row = 11 * b;
  }
  backend_->begin_sample(second.args());
  backend_->end_sample(first.sampled);
  backend_->end_sample(second.sampled);
  EXPECT_EQ(tokens(first.sampled), drawn);
  for (size_t b = 0; b < 6; ++b) EXPECT_EQ(second.sampled[b].token, drawn[11 * b]) << "row " << b;
}

TEST_P(Drawn, ARowThatDrewNothingGivesZero) {
  Draw draw(*backend_, 3, 5);
  std::vector<float> broken = draw.logits.values();
  broken[kVocab + 7] = std::numeric_limits<float>::quiet_NaN();
  const DeviceTensor logits(*backend_, DType::kF32, broken);
  SampleArgs args = draw.args();
  args.logits = logits.floats();
  const DeviceArray<int32_t> rows(*backend_, {0, 1, 2});
  const DeviceArray<int32_t> ids(*backend_, {9, 9, 9});
  backend_->begin_sample(args);
  backend_->take_drawn({.T = 3, .rows = rows.data(), .ids = ids.data()});
  backend_->end_sample(draw.sampled);
  EXPECT_FALSE(draw.sampled[1].finite);
  EXPECT_EQ(ids.values(), (std::vector<int32_t>{draw.sampled[0].token, 0, draw.sampled[2].token}));
}

INSTANTIATE_TEST_SUITE_P(All, Drawn, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
