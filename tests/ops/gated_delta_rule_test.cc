// The gated delta rule as an op of every backend: against the reference over batches that mix
// prompts, starts inside a chunk and decoded tokens with carried state, and bit by bit over how
// sequences are batched and cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "conformance.h"
#include "delta_rule_golden.h"
#include "ops/reference/delta_rule.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {
namespace {

struct Heads {
  int32_t Hk = 2;
  int32_t Hv = 4;
  int32_t dk = 32;
  int32_t dv = 32;

  int64_t width() const { return int64_t{2} * Hk * dk + int64_t{Hv} * dv; }
  int64_t out_width() const { return int64_t{Hv} * dv; }
};

constexpr int32_t kSlots = 6;

// Inputs that depend on slot and absolute position only, and the states of all slots.
class Layer {
 public:
  Layer(Backend& backend, const Heads& heads)
      : backend_(backend),
        heads_(heads),
        A_log_(backend, DType::kF32, random_values(static_cast<size_t>(heads.Hv), 3)),
        dt_bias_(backend, DType::kF32, random_values(static_cast<size_t>(heads.Hv), 4)),
        states_(backend, DType::kF32, kSlots * slot_floats()) {}

  void fill_states(float value) {
    const std::vector<float> values(kSlots * slot_floats(), value);
    backend_.copy_to_device(states_.data(), values.data(), values.size() * sizeof(float));
  }
  // NaN in q, k and v of every row of this slot from now on.
  void poison(int32_t slot) { poisoned_ = slot; }

  // Output rows of all sequences in order.
  std::vector<float> run(const std::vector<SequenceRows>& sequences) {
    std::vector<float> qkv;
    std::vector<float> gates;
    for (const SequenceRows& sequence : sequences) {
      for (int32_t row = 0; row < sequence.rows; ++row) {
        const auto seed = static_cast<uint32_t>(10000 * sequence.slot + sequence.context_len + row);
        auto x = random_values(static_cast<size_t>(heads_.width()), seed);
        if (sequence.slot == poisoned_) {
          std::ranges::fill(x, std::numeric_limits<float>::quiet_NaN());
        }
        const auto ba = random_values(static_cast<size_t>(2 * heads_.Hv), seed + 5000);
        qkv.insert(qkv.end(), x.begin(), x.end());
        gates.insert(gates.end(), ba.begin(), ba.end());
      }
    }
    const DType x = backend_.compute_dtype();
    const DeviceTensor in(backend_, x, qkv);
    const DeviceTensor b(backend_, x, gates);
    const auto T = static_cast<int64_t>(qkv.size()) / heads_.width();
    const DeviceTensor out(backend_, x, static_cast<size_t>(T * heads_.out_width()));
    const DeviceBatch batch(backend_, sequences);
    backend_.gated_delta_rule({.batch = batch.view(),
                               .num_k_heads = heads_.Hk,
                               .num_v_heads = heads_.Hv,
                               .dk = heads_.dk,
                               .dv = heads_.dv,
                               .qkv = in.data(),
                               .qkv_stride = heads_.width(),
                               .b = b.data(),
                               .a = static_cast<char*>(b.data()) + heads_.Hv * dtype_size(x),
                               .ba_stride = int64_t{2} * heads_.Hv,
                               .A_log = A_log_.floats(),
                               .dt_bias = dt_bias_.floats(),
                               .state = states_.floats(),
                               .out = out.data(),
                               .out_stride = heads_.out_width()});
    return out.values();
  }

  std::vector<float> states() const { return states_.values(); }

 private:
  size_t slot_floats() const {
    const int64_t bytes = backend_.recurrent_state_bytes(
        {.num_v_heads = heads_.Hv, .dk = heads_.dk, .dv = heads_.dv});
    return static_cast<size_t>(bytes) / sizeof(float);
  }

  Backend& backend_;
  Heads heads_;
  DeviceTensor A_log_, dt_bias_, states_;
  int32_t poisoned_ = -1;
};

SequenceRows rows_of(int32_t slot, int32_t context_len, int32_t rows, bool recurrent = false) {
  SequenceRows sequence = make_sequences({{context_len, rows}}, 1)[0];
  sequence.slot = slot;
  sequence.recurrent = recurrent;
  return sequence;
}

void append(std::vector<float>& to, const std::vector<float>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// One sequence with A = 1 and no bias: [rows, width] and b | a.
std::vector<float> run_projections(Backend& backend, const Heads& heads,
                                   const std::vector<float>& qkv, const std::vector<float>& gates,
                                   const SequenceRows& sequence) {
  const DType x = backend.compute_dtype();
  const DeviceTensor in(backend, x, qkv);
  const DeviceTensor b(backend, x, gates);
  const DeviceTensor zeros(backend, DType::kF32, static_cast<size_t>(heads.Hv));
  const int64_t bytes =
      backend.recurrent_state_bytes({.num_v_heads = heads.Hv, .dk = heads.dk, .dv = heads.dv});
  const DeviceTensor state(backend, DType::kF32, static_cast<size_t>(bytes) / sizeof(float));
  const DeviceTensor out(backend, x, static_cast<size_t>(sequence.rows * heads.out_width()));
  const DeviceBatch batch(backend, {sequence});
  backend.gated_delta_rule({.batch = batch.view(),
                            .num_k_heads = heads.Hk,
                            .num_v_heads = heads.Hv,
                            .dk = heads.dk,
                            .dv = heads.dv,
                            .qkv = in.data(),
                            .qkv_stride = heads.width(),
                            .b = b.data(),
                            .a = static_cast<char*>(b.data()) + heads.Hv * dtype_size(x),
                            .ba_stride = int64_t{2} * heads.Hv,
                            .A_log = zeros.floats(),
                            .dt_bias = zeros.floats(),
                            .state = state.floats(),
                            .out = out.data(),
                            .out_stride = heads.out_width()});
  return out.values();
}

class GatedDeltaRule : public testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    backend_ = make_case_backend(GetParam());
    reference_ = make_reference_backend(GetParam().x_dtype);
    // bfloat16 outputs alone are 1.7e-3 off; the products of a chunk on a matrix unit as much
    // again.
    bound_ = GetParam().x_dtype == DType::kF32 ? 1e-5 : 3.5e-3;
  }

  double bound_ = 0.0;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Backend> reference_;
};

const std::vector<Heads> kShapes = {
    {2, 4, 32, 32}, {2, 4, 128, 128}, {1, 3, 128, 128}, {2, 2, 128, 128}, {2, 4, 24, 48}};

TEST_P(GatedDeltaRule, MixedBatchesMatchTheReference) {
  for (const Heads& heads : kShapes) {
    Layer actual(*backend_, heads);
    Layer expected(*reference_, heads);
    actual.fill_states(std::nanf(""));
    expected.fill_states(0.0F);
    // Starts, then what continues them: in chunks, inside a chunk, by token.
    const std::vector<std::vector<SequenceRows>> steps = {
        {rows_of(4, 0, 64), rows_of(1, 0, 1), rows_of(0, 0, 150), rows_of(2, 0, 7, true)},
        {rows_of(2, 7, 1, true), rows_of(4, 64, 100), rows_of(0, 150, 75), rows_of(1, 1, 3, true)},
        {rows_of(0, 225, 1, true), rows_of(2, 8, 60), rows_of(3, 0, 3), rows_of(4, 164, 1, true)}};
    for (size_t i = 0; i < steps.size(); ++i) {
      const double error = relative_rms_error(actual.run(steps[i]), expected.run(steps[i]));
      EXPECT_LT(error, bound_) << heads.Hk << "/" << heads.Hv << " heads of " << heads.dk << ", "
                               << heads.dv << ", step " << i;
    }
  }
}

// So many heads and chunks that a device divides them otherwise than one sequence's.
TEST_P(GatedDeltaRule, BatchesThatFillADeviceMatchTheReference) {
  const Heads heads{8, 32, 128, 128};
  const std::vector<std::vector<SequenceRows>> steps = {
      {rows_of(4, 0, 80), rows_of(1, 0, 70), rows_of(2, 0, 3, true), rows_of(0, 0, 64),
       rows_of(3, 0, 100), rows_of(5, 0, 90)},
      {rows_of(4, 80, 48), rows_of(1, 70, 60), rows_of(2, 3, 1, true), rows_of(0, 64, 65),
       rows_of(3, 100, 30), rows_of(5, 90, 64)}};
  Layer whole(*backend_, heads);
  Layer alone(*backend_, heads);
  Layer expected(*reference_, heads);
  expected.fill_states(0.0F);
  for (const std::vector<SequenceRows>& step : steps) {
    const std::vector<float> out = whole.run(step);
    EXPECT_LT(relative_rms_error(out, expected.run(step)), bound_);
    std::vector<float> parts;
    for (const SequenceRows& sequence : step) {
      append(parts, alone.run({sequence}));
    }
    expect_same_bits(parts, out, "output");
    expect_same_bits(alone.states(), whole.states(), "states");
  }
}

TEST_P(GatedDeltaRule, BatchingAndCutsAtChunkBordersKeepBits) {
  for (const Heads& heads : kShapes) {
    Layer whole(*backend_, heads);
    const std::vector<SequenceRows> sequences = {rows_of(3, 0, 150), rows_of(0, 0, 20),
                                                 rows_of(5, 0, 9, true), rows_of(1, 0, 64)};
    const std::vector<float> out = whole.run(sequences);
    Layer cut(*backend_, heads);
    std::vector<float> parts = cut.run({rows_of(3, 0, 64)});
    append(parts, cut.run({rows_of(3, 64, 86)}));
    append(parts, cut.run({rows_of(0, 0, 20)}));
    append(parts, cut.run({rows_of(5, 0, 4, true)}));
    for (int32_t t = 4; t < 9; ++t) {
      append(parts, cut.run({rows_of(5, t, 1, true)}));
    }
    append(parts, cut.run({rows_of(1, 0, 64)}));
    expect_same_bits(parts, out, "output");
    expect_same_bits(cut.states(), whole.states(), "states");
  }
}

TEST_P(GatedDeltaRule, NanStaysInItsSequence) {
  for (const Heads& heads : kShapes) {
    Layer layer(*backend_, heads);
    layer.poison(2);
    const std::vector<float> out =
        layer.run({rows_of(0, 0, 30), rows_of(2, 0, 40), rows_of(1, 0, 70)});
    const auto row = static_cast<size_t>(heads.out_width());
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t t = i / row;
      ASSERT_EQ(std::isnan(out[i]), t >= 30 && t < 70) << "row " << t << ", " << i % row;
    }
    const std::vector<float> decoded =
        layer.run({rows_of(1, 70, 1, true), rows_of(2, 40, 1, true), rows_of(0, 30, 1, true)});
    for (size_t i = 0; i < decoded.size(); ++i) {
      ASSERT_EQ(std::isnan(decoded[i]), i / row == 1) << "row " << i / row << ", " << i % row;
    }
  }
}

// The recorded inputs in four decay regimes, from a zero state. Gates go in as projections that
// give them back (A = 1, no bias) and are rounded to X, so the definition is run on what X holds.
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
  std::vector<float> expected(T * values);
  for (int64_t h = 0; h < golden.num_v_heads; ++h) {
    std::vector<float> state(dk * static_cast<size_t>(golden.dv));
    reference::delta_rule({.tokens = golden.tokens,
                           .dk = golden.dk,
                           .dv = golden.dv,
                           .q = golden.q.data(),
                           .k = golden.k.data(),
                           .qk_stride = golden.dk,
                           .v = golden.v.data() + h * golden.dv,
                           .v_stride = golden.num_v_heads * golden.dv,
                           .g = g.data() + h,
                           .beta = beta.data() + h,
                           .gate_stride = golden.num_v_heads,
                           .state = state.data(),
                           .out = expected.data() + h * golden.dv,
                           .out_stride = golden.num_v_heads * golden.dv});
  }
  const Heads heads{1, static_cast<int32_t>(Hv), static_cast<int32_t>(dk),
                    static_cast<int32_t>(golden.dv)};
  const auto out = run_projections(backend, heads, qkv, gates,
                                   rows_of(0, 0, static_cast<int32_t>(T), recurrent));
  return relative_rms_error(out, expected);
}

struct GoldenBounds {
  const char* decay;
  double bf16;
  double fp16;  // operands; outputs are bfloat16, which alone is 1.7e-3
};

TEST_P(GatedDeltaRule, RecordedInputsMatchTheDefinition) {
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
TEST_P(GatedDeltaRule, NearlyParallelKeysStayWithinBounds) {
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

INSTANTIATE_TEST_SUITE_P(All, GatedDeltaRule, testing::ValuesIn(delta_rule_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
