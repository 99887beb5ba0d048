// moe_block of one token in the widths of the 35B-A3B and 80B-A3B, which has a kernel whose thread
// blocks wait for each other: against the reference, and again, so that it finds nothing of the run
// before.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

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
        BlockShape{12, 512, 2048, 10, 512}, BlockShape{6, 512, 2048, 4, 512},
        BlockShape{20, 512, 2048, 16, 512}}) {
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

// Rows of the router, the shared expert's gate aside, in groups of `count` equal ones.
void make_equal(const BlockShape& shape, int64_t count, Matrix& router) {
  for (int64_t e = 0; e < shape.E; ++e) {
    if (e % count == 0) {
      continue;
    }
    const auto from = router.values.begin() + e / count * count * shape.H;
    std::copy(from, from + shape.H, router.values.begin() + e * shape.H);
  }
}

// Equal results go to the lower ids: all equal, and pairs of which the last is cut by K.
TEST_P(MoeOne, ChoosesTheLowerIdsOfEqualResults) {
  const auto backend = make_case_backend(GetParam());
  const auto reference = make_reference_backend(GetParam().x_dtype);
  const double tolerance = GetParam().x_dtype == DType::kF32 ? 5e-5 : 1e-2;
  const BlockShape shape{40, 512, 2048, 5, 512};
  for (const int64_t count : {shape.E, int64_t{2}}) {
    BlockMatrices matrices(shape);
    make_equal(shape, count, matrices.router);
    for (const bool renormalize : {true, false}) {
      const std::string what = "groups of " + std::to_string(count);
      expect_close(run_block(*backend, shape, matrices, 1, renormalize),
                   run_block(*reference, shape, matrices, 1, renormalize), 1e-5, tolerance, what);
    }
  }
}

// A NaN or infinity among the results reaches every output, and the next run has nothing of it.
TEST_P(MoeOne, PassesOnWhatIsNoNumber) {
  const auto backend = make_case_backend(GetParam());
  const BlockShape shape{40, 512, 2048, 5, 512};
  const BlockMatrices matrices(shape);
  const std::vector<float> before = run_block(*backend, shape, matrices, 1, true);
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    BlockMatrices broken(shape);
    // One of the two is positive, whatever the sign of what they are multiplied by.
    broken.router.values[static_cast<size_t>(33 * shape.H)] = to_bfloat16(value);
    broken.router.values[static_cast<size_t>(34 * shape.H)] = to_bfloat16(-value);
    for (const float result : run_block(*backend, shape, broken, 1, true)) {
      ASSERT_TRUE(std::isnan(result)) << value;
    }
    EXPECT_EQ(run_block(*backend, shape, matrices, 1, true), before);
  }
}

// More experts than 256, as the 80B-A3B has. Gigabytes, so with the backend only that has the
// kernel.
class MoeOneMany : public testing::TestWithParam<BackendCase> {};

TEST_P(MoeOneMany, ChoosesAmongMoreThan256) {
  const auto backend = make_case_backend(GetParam());
  const auto reference = make_reference_backend(GetParam().x_dtype);
  const BlockShape shape{290, 512, 2048, 10, 512};
  const BlockMatrices matrices(shape, 7);
  expect_close(run_block(*backend, shape, matrices, 1, true),
               run_block(*reference, shape, matrices, 1, true), 1e-5, 1e-2, "E 290");
}

INSTANTIATE_TEST_SUITE_P(All, MoeOne, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

std::vector<BackendCase> bfloat16_cases() {
  std::vector<BackendCase> cases = all_cases();
  std::erase_if(cases, [](const BackendCase& backend_case) {
    return backend_case.x_dtype != DType::kBF16 || backend_case.batch_invariant;
  });
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, MoeOneMany, testing::ValuesIn(bfloat16_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
