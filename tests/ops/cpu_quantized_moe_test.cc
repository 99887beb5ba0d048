// Experts with 8-bit and 4-bit weights on the CPU backend against the reference, on every
// instruction set of the machine; and that a token's bits do not depend on the batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/matrix_ops.h"
#include "cpu_quantized_util.h"
#include "cpu_test_util.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {
namespace {

class CpuQuantizedExperts : public testing::TestWithParam<std::tuple<CpuIsa, int32_t>> {
 protected:
  CpuIsa isa() const { return std::get<0>(GetParam()); }
  int32_t bits() const { return std::get<1>(GetParam()); }
};

// Experts of one layer, stacked as checkpoints have them.
struct QuantizedExperts {
  static constexpr int64_t E = 6;
  static constexpr int64_t I = 40;
  static constexpr int64_t H = 96;
  QuantizedMatrix gate, up, down;
  std::vector<TensorView> views[3];

  explicit QuantizedExperts(int32_t bits)
      : gate(E * I, H, bits, 21), up(E * I, H, bits, 22), down(E * H, I, bits, 23) {
    for (int64_t e = 0; e < E; ++e) {
      views[0].push_back(gate.tensor.view().rows(e * I, (e + 1) * I));
      views[1].push_back(up.tensor.view().rows(e * I, (e + 1) * I));
      views[2].push_back(down.tensor.view().rows(e * H, (e + 1) * H));
    }
  }

  // How far an expert's result may be where silu(gate) * up, of this row x of activations, is off
  // by `step` of its largest magnitude.
  double tolerance(int64_t e, const float* x, double step) const {
    double largest = 0.0;
    for (int64_t i = e * I; i < (e + 1) * I; ++i) {
      const double g = exact_dot(x, &gate.values[static_cast<size_t>(i * H)], H).value;
      const double u = exact_dot(x, &up.values[static_cast<size_t>(i * H)], H).value;
      largest = std::max(largest, std::abs(g / (1.0 + std::exp(-g)) * u));
    }
    double magnitude = 0.0;
    for (int64_t h = e * H; h < (e + 1) * H; ++h) {
      double sum = 0.0;
      for (int64_t i = h * I; i < (h + 1) * I; ++i) {
        sum += std::abs(static_cast<double>(down.values[static_cast<size_t>(i)]));
      }
      magnitude = std::max(magnitude, sum);
    }
    return magnitude * largest * step;
  }
};

TEST_P(CpuQuantizedExperts, ExpertsMatchTheReferenceWhateverTheBatch) {
  constexpr int64_t T = 40;
  constexpr int64_t K = 2;
  constexpr int64_t H = QuantizedExperts::H;
  const QuantizedExperts experts(bits());
  const auto x = uniform_values(static_cast<size_t>(T * H), 24);
  const auto shared = uniform_values(static_cast<size_t>(T * H), 25);
  const auto shared_gate = uniform_values(static_cast<size_t>(T), 26);
  std::vector<int32_t> ids;
  std::vector<float> weights;
  for (int32_t t = 0; t < T; ++t) {
    ids.insert(ids.end(), {t % 3, 3 + t * t % 3});
    weights.insert(weights.end(), {0.75F, 0.25F});
  }
  const auto rounded = rounded_rows(x, H, bits());
  for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
    const auto x_bytes = to_x(x_dtype, x);
    const auto args = [&](const std::byte* rows, DType dtype, const ExpertsWeight* weight,
                          int64_t first, int64_t count, float* out) {
      return MoeArgs{.T = count,
                     .K = K,
                     .x = rows + first * H * dtype_size(dtype),
                     .x_stride = H,
                     .experts = weight,
                     .expert_ids = ids.data() + first * K,
                     .weights = weights.data() + first * K,
                     .shared = shared.data() + first * H,
                     .shared_gate = shared_gate.data() + first,
                     .shared_gate_stride = 1,
                     .out = out};
    };
    const auto reference = make_reference_backend(DType::kF32);
    const auto oracle =
        reference->make_experts(experts.views[0], experts.views[1], experts.views[2]).value();
    std::vector<float> expected(static_cast<size_t>(T * H));
    reference->moe(
        args(to_x(DType::kF32, rounded).data(), DType::kF32, oracle.get(), 0, T, expected.data()));

    CpuContext context(x_dtype, isa(), 2);
    const auto weight =
        make_cpu_experts(context, experts.views[0], experts.views[1], experts.views[2]).value();
    std::vector<float> all(static_cast<size_t>(T * H));
    cpu_moe(context, args(x_bytes.data(), x_dtype, weight.get(), 0, T, all.data()));
    // What enters down is rounded to integers, and before that to the compute dtype.
    const double step = 0.5 / static_cast<double>(levels_of(bits())) +
                        (x_dtype == DType::kBF16 ? 0x1p-9 : 0.0) + 0x1p-18;
    for (int64_t t = 0; t < T; ++t) {
      double tolerance = 1e-5;
      for (int64_t j = t * K; j < (t + 1) * K; ++j) {
        tolerance += static_cast<double>(weights[static_cast<size_t>(j)]) *
                     experts.tolerance(ids[static_cast<size_t>(j)], rounded.data() + t * H, step);
      }
      for (int64_t h = t * H; h < (t + 1) * H; ++h) {
        ASSERT_NEAR(all[static_cast<size_t>(h)], expected[static_cast<size_t>(h)], tolerance) << h;
      }
    }
    for (const int64_t count : {1, 2, 7, 13}) {
      std::vector<float> some(static_cast<size_t>(count * H));
      cpu_moe(context, args(x_bytes.data(), x_dtype, weight.get(), T - count, count, some.data()));
      ASSERT_EQ(0,
                std::memcmp(some.data(), all.data() + (T - count) * H, some.size() * sizeof(float)))
          << count << " tokens";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuQuantizedExperts,
                         testing::Combine(testing::ValuesIn(machine_isas()), testing::Values(8, 4)),
                         [](const auto& test) {
                           return std::string(cpu_isa_name(std::get<0>(test.param))) + "_int" +
                                  std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace deltaserve
