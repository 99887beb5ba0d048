// moe_block against the reference's separate ops, over row counts that choose different kernels. A
// backend without it is tested through its own ops, as a model uses them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "moe_block_case.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {
namespace {

class MoeBlock : public testing::TestWithParam<BackendCase> {};

TEST_P(MoeBlock, MatchesSeparateOpsOfTheReference) {
  const auto backend = make_case_backend(GetParam());
  const auto reference = make_reference_backend(GetParam().x_dtype);
  // In bfloat16 a rounded input or inner product can fall to either side: a unit in some terms.
  const double tolerance = GetParam().x_dtype == DType::kF32 ? 5e-5 : 1e-2;
  for (const BlockShape& shape : {BlockShape{8, 64, 128, 2, 64}, BlockShape{16, 128, 192, 8, 192},
                                  BlockShape{290, 64, 64, 10, 64}, BlockShape{5, 72, 64, 3, 40}}) {
    const BlockMatrices matrices(shape);
    for (const int64_t T : {1, 3, 4, 5, 20, 33, 140}) {
      const bool renormalize = T != 3;
      expect_close(run_block(*backend, shape, matrices, T, renormalize),
                   run_block(*reference, shape, matrices, T, renormalize), 1e-5, tolerance,
                   std::to_string(T) + " tokens, E " + std::to_string(shape.E));
    }
  }
}

// A backend's scratch grows when an op first needs more, and the products of the shared expert may
// need more than the block did when it ran for one token: nothing of the block may be left behind
// there. With so large a step the memory given up goes back to the device. By backend and tokens.
class MoeBlockScratch : public testing::TestWithParam<std::tuple<BackendCase, int64_t>> {};

TEST_P(MoeBlockScratch, HoldsNothingThatItsOwnOpsMove) {
  BackendCase large = std::get<0>(GetParam());
  large.max_tokens = 16384;
  const auto reference = make_reference_backend(large.x_dtype);
  const double tolerance = large.x_dtype == DType::kF32 ? 5e-5 : 1e-2;
  const BlockShape shape{8, 64, 256, 2, 64};
  const BlockMatrices matrices(shape);
  const auto backend = make_case_backend(large);
  for (const int64_t tokens : {int64_t{1}, std::get<1>(GetParam())}) {
    expect_close(run_block(*backend, shape, matrices, tokens, true),
                 run_block(*reference, shape, matrices, tokens, true), 1e-5, tolerance,
                 std::to_string(tokens) + " tokens");
  }
}

INSTANTIATE_TEST_SUITE_P(All, MoeBlockScratch,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::Values<int64_t>(33, 128, 129, 200)),
                         [](const auto& test) {
                           return case_name(std::get<0>(test.param)) + "_" +
                                  std::to_string(std::get<1>(test.param));
                         });

INSTANTIATE_TEST_SUITE_P(All, MoeBlock, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
