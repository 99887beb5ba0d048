// The gated delta rule as an op of every backend against its definition in float64: recorded inputs
// in four decay regimes, and keys that are nearly parallel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "conformance.h"
#include "delta_rule_golden.h"
#include "gated_delta_rule_case.h"

namespace deltaserve {
namespace {

// One sequence with A = 1 and no bias, from a zero state.
std::vector<float> run_projections(Backend& backend, const DeltaHeads& heads,
                                   const std::vector<float>& qkv, const std::vector<float>& gates,
                                   const SequenceRows& sequence) {
  const DeviceTensor zeros(backend, DType::kF32, static_cast<size_t>(heads.Hv));
  const DeviceTensor state(backend, DType::kF32, delta_slot_floats(backend, heads));
  return run_delta_rule(backend, heads, qkv, gates, {sequence},
                        {.A_log = zeros, .dt_bias = zeros, .states = state});
}

// Gates go in as projections that give them back (A = 1, no bias) and are rounded to X, so the
// definition is run on what X holds.
std::vector<float> rounded_projections(DType x, const std::vector<float>& gates,
                                       const std::function<double(double)>& inverse) {
  std::vector<float> out;
  for (const float gate : gates) {
    const auto value = static_cast<float>(inverse(gate));
    out.push_back(x == DType::kF32 ? value : to_float(to_bfloat16(value)));
  }
  return out;
}

// How far one sequence's output is from the definition over the gates that X holds.
double error_to_definition(Backend& backend, const DeltaRuleGoldenCase& golden, bool recurrent) {
  const DType x = backend.compute_dtype();
  const auto T = static_cast<size_t>(golden.tokens);
  const auto Hv = static_cast<size_t>(golden.num_v_heads);
  const auto dk = static_cast<size_t>(golden.dk);
  const auto values = Hv * static_cast<size_t>(golden.dv);
  const auto a = rounded_projections(x, golden.g, [](double g) {
    return g < -20 ? -g : std::log(std::expm1(-std::min(g, -1e-30)));
  });
  const auto b = rounded_projections(x, golden.beta,
                                     [](double beta) { return std::log(beta / (1.0 - beta)); });
  std::vector<float> qkv;
  std::vector<float> gates;
  std::vector<float> g;
  std::vector<float> beta;
  for (size_t t = 0; t < T; ++t) {
    const auto row = [&](const std::vector<float>& from, size_t width) {
      qkv.insert(qkv.end(), from.begin() + static_cast<int64_t>(t * width),
                 from.begin() + static_cast<int64_t>((t + 1) * width));
    };
    row(golden.q, dk);
    row(golden.k, dk);
    row(golden.v, values);
    for (size_t h = 0; h < Hv; ++h) gates.push_back(b[t * Hv + h]);
    for (size_t h = 0; h < Hv; ++h) gates.push_back(a[t * Hv + h]);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const double softplus = a[i] > 20.0F ? a[i] : std::log1p(std::exp(double{a[i]}));
    g.push_back(static_cast<float>(-softplus));
    beta.push_back(static_cast<float>(1.0 / (1.0 + std::exp(-double{b[i]}))));
  }
  DeltaRuleGoldenCase definition = golden;
  definition.g = g;
  definition.beta = beta;
  definition.state.assign(values * dk, 0.0F);
  const DeltaHeads heads{1, static_cast<int32_t>(Hv), static_cast<int32_t>(dk),
                         static_cast<int32_t>(golden.dv)};
  const auto out = run_projections(backend, heads, qkv, gates,
                                   rows_of(0, 0, static_cast<int32_t>(T), recurrent));
  return relative_rms_error(out, run_reference(definition));
}

class GatedDeltaRuleDefinition : public testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override { backend_ = make_case_backend(GetParam()); }
  std::unique_ptr<Backend> backend_;
};

struct GoldenBounds {
  const char* decay;
  double bf16;
  double fp16;  // operands; outputs are bfloat16, which alone is 1.7e-3
};

TEST_P(GatedDeltaRuleDefinition, RecordedInputsMatchTheDefinition) {
  for (const GoldenBounds& bounds : {GoldenBounds{"mild", 3e-3, 2e-3},
                                     {"typical", 3e-3, 2e-3},
                                     {"extreme", 5e-3, 5e-3},
                                     {"none", 5e-3, 2e-3}}) {
    const DeltaRuleGoldenCase golden = load_delta_rule_golden(bounds.decay);
    const double bound = GetParam().x_dtype == DType::kF32 ? 1e-5
                         : GetParam().fp16_delta_rule      ? bounds.fp16
                                                           : bounds.bf16;
    for (const bool recurrent : {false, true}) {
      EXPECT_LT(error_to_definition(*backend_, golden, recurrent), bound)
          << bounds.decay << (recurrent ? " by token" : " in chunks");
    }
  }
}

// Keys of a chunk that differ by a twentieth, written over with beta 0.999: new values are small
// differences.
TEST_P(GatedDeltaRuleDefinition, NearlyParallelKeysStayWithinBounds) {
  DeltaRuleGoldenCase input;
  input.tokens = 330;
  input.num_v_heads = 2;
  input.dk = 128;
  input.dv = 128;
  const auto dim = static_cast<size_t>(input.dk);
  const auto rows = static_cast<size_t>(input.tokens);
  const auto to_bf16 = [](float value) { return to_float(to_bfloat16(value)); };
  for (std::vector<float>* x : {&input.q, &input.k}) {
    const uint32_t seed = x == &input.q ? 1 : 2;
    const std::vector<float> mean = random_values(dim, seed);
    const std::vector<float> noise = random_values(rows * dim, seed + 2);
    for (size_t i = 0; i < rows * dim; ++i) {
      x->push_back(to_bf16(mean[i % dim] + 0.05F * noise[i]));
    }
  }
  for (const float v : random_values(rows * 2 * dim, 5)) input.v.push_back(to_bf16(v));
  for (const float g : random_values(rows * 2, 6)) input.g.push_back(-0.05F * std::abs(g));
  input.beta.assign(rows * 2, 0.999F);
  const double bound = GetParam().x_dtype == DType::kF32 ? 1e-5
                       : GetParam().fp16_delta_rule      ? 5e-3
                                                         : 1e-2;
  EXPECT_LT(error_to_definition(*backend_, input, false), bound);
}

INSTANTIATE_TEST_SUITE_P(All, GatedDeltaRuleDefinition, testing::ValuesIn(delta_rule_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
