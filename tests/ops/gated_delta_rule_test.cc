// The gated delta rule as an op of every backend: against the reference over batches that mix
// prompts, starts inside a chunk and decoded tokens with carried state, and bit by bit over how
// sequences are batched and cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance.h"
#include "delta_rule_golden.h"
#include "gated_delta_rule_case.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {
namespace {

constexpr int32_t kSlots = 6;

// Inputs that depend on slot and absolute position only, and the states of all slots.
class Layer {
 public:
  Layer(Backend& backend, const DeltaHeads& heads)
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
    return run_delta_rule(backend_, heads_, qkv, gates, sequences,
                          {.A_log = A_log_, .dt_bias = dt_bias_, .states = states_});
  }

  std::vector<float> states() const { return states_.values(); }

 private:
  size_t slot_floats() const { return delta_slot_floats(backend_, heads_); }

  Backend& backend_;
  DeltaHeads heads_;
  DeviceTensor A_log_, dt_bias_, states_;
  int32_t poisoned_ = -1;
};

void append(std::vector<float>& to, const std::vector<float>& from) {
  to.insert(to.end(), from.begin(), from.end());
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

const std::vector<DeltaHeads> kShapes = {
    {2, 4, 32, 32}, {2, 4, 128, 128}, {1, 3, 128, 128}, {2, 2, 128, 128}, {2, 4, 24, 48}};

TEST_P(GatedDeltaRule, MixedBatchesMatchTheReference) {
  for (const DeltaHeads& heads : kShapes) {
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
  const DeltaHeads heads{8, 32, 128, 128};
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
  for (const DeltaHeads& heads : kShapes) {
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
  for (const DeltaHeads& heads : kShapes) {
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

INSTANTIATE_TEST_SUITE_P(All, GatedDeltaRule, testing::ValuesIn(delta_rule_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
