// The reference delta rule against vectors computed in float64 by the definition, for four decay
// regimes: `extreme` reaches g = -320 a token, where exponentiating before subtracting overflows.
#include <gtest/gtest.h>

#include "delta_rule_golden.h"
#include "ops/reference/delta_rule.h"

namespace deltaserve {
namespace {

class DeltaRuleGolden : public testing::TestWithParam<const char*> {};

TEST_P(DeltaRuleGolden, ReferenceMatchesDefinition) {
  DeltaRuleGoldenCase golden = load_delta_rule_golden(GetParam());
  std::vector<float> out(golden.output.size());
  for (int64_t h = 0; h < golden.num_v_heads; ++h) {
    reference::delta_rule({.tokens = golden.tokens,
                           .dk = golden.dk,
                           .dv = golden.dv,
                           .q = golden.q.data(),
                           .k = golden.k.data(),
                           .qk_stride = golden.dk,
                           .v = golden.v.data() + h * golden.dv,
                           .v_stride = golden.num_v_heads * golden.dv,
                           .g = golden.g.data() + h,
                           .beta = golden.beta.data() + h,
                           .gate_stride = golden.num_v_heads,
                           .state = golden.state.data() + h * golden.dk * golden.dv,
                           .out = out.data() + h * golden.dv,
                           .out_stride = golden.num_v_heads * golden.dv});
  }
  EXPECT_LT(relative_rms_error(out, golden.output), 1e-6);
  EXPECT_LT(relative_rms_error(golden.state, golden.final_state), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Decays, DeltaRuleGolden,
                         testing::Values("mild", "typical", "extreme", "none"));

}  // namespace
}  // namespace deltaserve
