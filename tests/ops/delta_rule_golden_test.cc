// The reference delta rule against vectors computed in float64 by the definition, for four decay
// regimes: `extreme` reaches g = -320 a token, where exponentiating before subtracting overflows.
#include <gtest/gtest.h>

#include "delta_rule_golden.h"

namespace deltaserve {
namespace {

class DeltaRuleGolden : public testing::TestWithParam<const char*> {};

TEST_P(DeltaRuleGolden, ReferenceMatchesDefinition) {
  DeltaRuleGoldenCase golden = load_delta_rule_golden(GetParam());
  const std::vector<float> out = run_reference(golden);
  EXPECT_LT(relative_rms_error(out, golden.output), 1e-6);
  EXPECT_LT(relative_rms_error(golden.state, golden.final_state), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Decays, DeltaRuleGolden,
                         testing::Values("mild", "typical", "extreme", "none"));

}  // namespace
}  // namespace deltaserve
