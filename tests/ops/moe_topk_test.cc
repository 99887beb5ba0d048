// The choice of experts against the reference, with equal results of the router and broken ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backend_pair.h"

namespace deltaserve {
namespace {

class MoeTopk : public BackendPair {};

struct TopkResult {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

TopkResult run_topk(Backend& backend, const std::vector<float>& logits, int32_t E, int32_t K,
                    bool renormalize) {
  const int64_t T = static_cast<int64_t>(logits.size()) / E;
  DeviceTensor device_logits(backend, DType::kF32, logits);
  DeviceArray<int32_t> ids(backend, std::vector<int32_t>(static_cast<size_t>(T * K), -1));
  DeviceTensor weights(backend, DType::kF32, static_cast<size_t>(T * K));
  backend.moe_topk({.T = T,
                    .E = E,
                    .K = K,
                    .logits = device_logits.floats(),
                    .logits_stride = E,
                    .renormalize = renormalize,
                    .expert_ids = ids.data(),
                    .weights = weights.floats()});
  return {ids.values(), weights.values()};
}

TEST_P(MoeTopk, MatchesTheReference) {
  for (const auto& [E, K] : {std::pair{8, 2}, std::pair{256, 8}, std::pair{512, 10}}) {
    std::vector<float> logits = random_values(static_cast<size_t>(13 * E), 3, 2.0F);
    for (int32_t e = 0; e < E; ++e) {
      logits[static_cast<size_t>(e)] = 1.0F;  // row 0: all equal, the lowest ids win
    }
    for (const bool renormalize : {true, false}) {
      const TopkResult actual = run_topk(*backend_, logits, E, K, renormalize);
      const TopkResult expected = run_topk(*reference_, logits, E, K, renormalize);
      EXPECT_EQ(actual.ids, expected.ids);
      expect_close(actual.weights, expected.weights, 1e-5, 0.0, "weights");
      EXPECT_EQ(actual.ids[0], 0);
      EXPECT_EQ(actual.ids[static_cast<size_t>(K - 1)], K - 1);
    }
  }
}

TEST_P(MoeTopk, OfNanGivesNanWeightsAndValidIds) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const TopkResult result = run_topk(*backend_, std::vector<float>(64, nan), 64, 8, true);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(result.ids[i], static_cast<int32_t>(i));
    EXPECT_TRUE(std::isnan(result.weights[i]));
  }
}

// A softmax with one such result has no numbers at all.
TEST_P(MoeTopk, OfOneNanOrInfinityGivesNanWeights) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits = random_values(64, 3, 2.0F);
    logits[33] = value;
    for (const bool renormalize : {true, false}) {
      const TopkResult result = run_topk(*backend_, logits, 64, 8, renormalize);
      EXPECT_EQ(result.ids, run_topk(*reference_, logits, 64, 8, renormalize).ids);
      for (const float weight : result.weights) {
        EXPECT_TRUE(std::isnan(weight)) << value;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MoeTopk, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
