// The inner rule of the CPU backend's gated delta rule against vectors made in float64.
#include <algorithm>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/delta_rule.h"
#include "cpu_test_util.h"
#include "delta_rule_golden.h"
#include "ops/reference/delta_rule.h"

namespace deltaserve {
namespace {

constexpr int64_t kStrip = 32;

// [dk][dv] to strips [dv / 32][dk][32] and back.
std::vector<float> to_strips(const float* state, int64_t dk, int64_t dv) {
  std::vector<float> strips(static_cast<size_t>(delta_rule_strips(dv) * dk * kStrip));
  for (int64_t i = 0; i < dk; ++i) {
    for (int64_t j = 0; j < dv; ++j) {
      strips[static_cast<size_t>((j / kStrip * dk + i) * kStrip + j % kStrip)] = state[i * dv + j];
    }
  }
  return strips;
}

std::vector<float> from_strips(const float* strips, int64_t dk, int64_t dv) {
  std::vector<float> state(static_cast<size_t>(dk * dv));
  for (int64_t i = 0; i < dk; ++i) {
    for (int64_t j = 0; j < dv; ++j) {
      state[static_cast<size_t>(i * dv + j)] = strips[(j / kStrip * dk + i) * kStrip + j % kStrip];
    }
  }
  return state;
}

class CpuDeltaRule : public testing::TestWithParam<CpuIsa> {};

// Inputs are exact in bfloat16, so there the error is that of the arithmetic and of the outputs'
// rounding. AMX splits what is float32 into 16 bits.
void check_golden(CpuIsa isa, DType x, const char* decay, bool chunked) {
  const DeltaRuleGoldenCase golden = load_delta_rule_golden(decay);
  const CpuContext context(x, isa, 1);
  const auto q = to_x(x, golden.q);
  const auto k = to_x(x, golden.k);
  const auto v = to_x(x, golden.v);
  const int64_t element = dtype_size(x);
  std::vector<float> scratch(static_cast<size_t>(delta_rule_scratch_bytes(golden.dk)) / 4);
  std::vector<std::byte> out_bytes(golden.output.size() * static_cast<size_t>(element));
  std::vector<float> final_state;
  for (int64_t h = 0; h < golden.num_v_heads; ++h) {
    auto state = to_strips(&golden.state[static_cast<size_t>(h * golden.dk * golden.dv)], golden.dk,
                           golden.dv);
    for (int64_t t = 0; t < golden.tokens; t += kChunkSize) {
      const DeltaRuleRows rows{
          .rows = std::min<int64_t>(kChunkSize, golden.tokens - t),
          .dk = golden.dk,
          .dv = golden.dv,
          .q = q.data() + t * golden.dk * element,
          .k = k.data() + t * golden.dk * element,
          .v = v.data() + (t * golden.num_v_heads + h) * golden.dv * element,
          .qk_stride = golden.dk,
          .v_stride = golden.num_v_heads * golden.dv,
          .g = golden.g.data() + t * golden.num_v_heads + h,
          .beta = golden.beta.data() + t * golden.num_v_heads + h,
          .gate_stride = golden.num_v_heads,
          .state = state.data(),
          .out = out_bytes.data() + (t * golden.num_v_heads + h) * golden.dv * element,
          .out_stride = golden.num_v_heads * golden.dv,
          .strips = {0, delta_rule_strips(golden.dv)}};
      parallel_region(1, [&](const Team&) {
        (chunked ? delta_rule_chunk : delta_rule_recurrent)(context, rows, scratch.data());
      });
    }
    const auto end = from_strips(state.data(), golden.dk, golden.dv);
    final_state.insert(final_state.end(), end.begin(), end.end());
  }
  // A NaN anywhere fails the comparisons.
  const bool split = isa == CpuIsa::kAmx && x == DType::kBF16 && chunked;
  const double tolerance = split ? 1e-5 : 2e-6;
  const auto out = from_x(x, out_bytes);
  if (x == DType::kF32) {
    EXPECT_LT(relative_rms_error(out, golden.output), tolerance) << decay << " " << chunked;
  } else {
    // Few values lie so near the middle of two bfloat16 that they are rounded to the other one.
    EXPECT_LT(relative_rms_error(out, from_x(x, to_x(x, golden.output))), 5e-4) << decay;
  }
  EXPECT_LT(relative_rms_error(final_state, golden.final_state), tolerance) << decay;
}

TEST_P(CpuDeltaRule, MatchesFloat64InAllDecays) {
  for (const char* decay : {"mild", "typical", "extreme", "none"}) {
    for (const DType x : {DType::kF32, DType::kBF16}) {
      check_golden(GetParam(), x, decay, false);
      check_golden(GetParam(), x, decay, true);
    }
  }
}

// A strong decay must not cost the small ones after it their digits: the running sum is large then.
TEST_P(CpuDeltaRule, SmallDecaysAfterStrongOnes) {
  const int64_t dk = 32;
  const int64_t dv = 32;
  const int64_t rows = kChunkSize;
  const auto q = uniform_values(static_cast<size_t>(rows * dk), 21);
  const auto k = uniform_values(static_cast<size_t>(rows * dk), 22);
  const auto v = uniform_values(static_cast<size_t>(rows * dv), 23);
  std::vector<float> g(static_cast<size_t>(rows), -0.01F);
  std::fill(g.begin(), g.begin() + 20, -320.0F);
  const std::vector<float> beta(static_cast<size_t>(rows), 0.5F);
  std::vector<float> state(static_cast<size_t>(dk * dv), 1.0F);
  auto strips = to_strips(state.data(), dk, dv);
  std::vector<float> expected(v.size());
  reference::delta_rule({.tokens = rows,
                         .dk = dk,
                         .dv = dv,
                         .q = q.data(),
                         .k = k.data(),
                         .qk_stride = dk,
                         .v = v.data(),
                         .v_stride = dv,
                         .g = g.data(),
                         .beta = beta.data(),
                         .gate_stride = 1,
                         .state = state.data(),
                         .out = expected.data(),
                         .out_stride = dv});
  std::vector<float> out(v.size());
  std::vector<float> scratch(static_cast<size_t>(delta_rule_scratch_bytes(dk)) / 4);
  delta_rule_chunk(CpuContext(DType::kF32, GetParam(), 1),
                   {.rows = rows,
                    .dk = dk,
                    .dv = dv,
                    .q = q.data(),
                    .k = k.data(),
                    .v = v.data(),
                    .qk_stride = dk,
                    .v_stride = dv,
                    .g = g.data(),
                    .beta = beta.data(),
                    .gate_stride = 1,
                    .state = strips.data(),
                    .out = out.data(),
                    .out_stride = dv,
                    .strips = {0, 1}},
                   scratch.data());
  EXPECT_LT(relative_rms_error(out, expected), 2e-6);
  EXPECT_LT(relative_rms_error(from_strips(strips.data(), dk, dv), state), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuDeltaRule, testing::ValuesIn(machine_isas()),
                         [](const auto& isa) { return std::string(cpu_isa_name(isa.param)); });

}  // namespace
}  // namespace deltaserve
