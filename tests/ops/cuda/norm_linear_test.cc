// A norm and the product of its result in one launch, with the bits of both ops; and the shapes
// that are left to them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance.h"
#include "random_matrix.h"

namespace deltaserve {
namespace {

struct NormShape {
  int64_t T;
  int64_t H;
  int64_t N;
  bool adds = false;
  bool out_float = false;
};

class NormLinear : public testing::TestWithParam<BackendCase> {
 protected:
  // The product's result; empty if the two are to be fused and are not.
  std::vector<float> run(const NormShape& shape, bool fused) {
    const Matrix matrix(shape.N, shape.H, 21);
    const auto weight = backend_->make_linear({&matrix.view, 1}).value();
    const auto count = static_cast<size_t>(shape.T * shape.H);
    const DType x = backend_->compute_dtype();
    const DeviceTensor residual(*backend_, DType::kF32, random_values(count, 22, 3.0F));
    const DeviceTensor delta(*backend_, DType::kF32, random_values(count, 23));
    const DeviceTensor norm_weight(*backend_, DType::kF32,
                                   random_values(static_cast<size_t>(shape.H), 24, 0.3F));
    const DeviceTensor normed(*backend_, x, count);
    const DeviceTensor out(*backend_, shape.out_float ? DType::kF32 : x,
                           static_cast<size_t>(shape.T * shape.N));
    const AddRmsNormArgs norm = {.T = shape.T,
                                 .H = shape.H,
                                 .residual = residual.floats(),
                                 .delta = shape.adds ? delta.floats() : nullptr,
                                 .weight = norm_weight.floats(),
                                 .out = normed.data()};
    const LinearArgs linear = {.M = shape.T,
                               .x = normed.data(),
                               .x_stride = shape.H,
                               .weight = weight.get(),
                               .out = out.data(),
                               .out_stride = shape.N,
                               .out_float = shape.out_float};
    if (!fused) {
      backend_->add_rms_norm(norm);
      backend_->linear(linear);
    } else if (!backend_->norm_linear(norm, linear)) {
      return {};
    }
    return out.values();
  }

  bool fuses() const { return GetParam().x_dtype == DType::kBF16 && !GetParam().batch_invariant; }

  std::unique_ptr<Backend> backend_ = make_case_backend(GetParam());
};

TEST_P(NormLinear, HasTheBitsOfBothOps) {
  for (const int64_t N : {1, 7, 9, 131, 2048, 9216, 12352}) {
    const NormShape shape = {.T = 1, .H = 2048, .N = N};
    const std::vector<float> fused = run(shape, true);
    ASSERT_EQ(fused.empty(), !fuses());
    if (fuses()) {
      expect_same_bits(fused, run(shape, false), "N " + std::to_string(N));
    }
  }
}

TEST_P(NormLinear, LeavesOtherShapesToTheOps) {
  for (const NormShape& shape :
       {NormShape{.T = 2, .H = 2048, .N = 64}, NormShape{.T = 1, .H = 4096, .N = 64},
        NormShape{.T = 1, .H = 2048, .N = 64, .adds = true},
        NormShape{.T = 1, .H = 2048, .N = 64, .out_float = true},
        NormShape{.T = 1, .H = 2048, .N = 20000}}) {
    EXPECT_TRUE(run(shape, true).empty()) << shape.T << " x " << shape.H << " x " << shape.N;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NormLinear, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
