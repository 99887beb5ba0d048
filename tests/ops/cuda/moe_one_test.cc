// moe_block of one token in the widths of the 35B-A3B and 80B-A3B, which has a kernel whose thread
// blocks wait for each other: against the reference, and again, so that it finds nothing of the run
// before.
#include <gtest/gtest.h>

#include "moe_block_case.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {
namespace {

class MoeOne : public testing::TestWithParam<BackendCase> {};

TEST_P(MoeOne, MatchesTheReferenceEachTime) {
  const auto backend = make_case_backend(GetParam());
  const auto reference = make_reference_backend(GetParam().x_dtype);
  const double tolerance = GetParam().x_dtype == DType::kF32 ? 5e-5 : 1e-2;
  for (const BlockShape& shape :
       {BlockShape{8, 512, 2048, 8, 512}, BlockShape{19, 512, 2048, 5, 512},
        BlockShape{12, 512, 2048, 10, 512}}) {
    const BlockMatrices matrices(shape);
    for (const bool renormalize : {true, false}) {
      const std::string what = "K " + std::to_string(shape.K);
      const std::vector<float> first = run_block(*backend, shape, matrices, 1, renormalize);
      expect_close(first, run_block(*reference, shape, matrices, 1, renormalize), 1e-5, tolerance,
                   what);
      EXPECT_EQ(run_block(*backend, shape, matrices, 1, renormalize), first) << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MoeOne, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
