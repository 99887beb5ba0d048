// delta_decode against the reference's separate ops and, bit by bit, against the backend's own: a
// sequence may be decoded by either, step by step. A backend without it is tested through its own
// ops, as a model uses them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "conformance.h"
#include "delta_rule_golden.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {
namespace {

struct Heads {
  int32_t Hk = 2;
  int32_t Hv = 4;
  int32_t dim = 128;  // dk and dv

  int64_t channels() const { return int64_t{2 * Hk + Hv} * dim; }
  int64_t values() const { return int64_t{Hv} * dim; }
  int64_t stride() const { return (channels() + values() + 2 * Hv + 31) / 32 * 32; }
};

// A sequence's next token.
struct Next {
  int32_t slot = 0;
  int32_t position = 0;
};

enum class Form { kOps, kFused };

// A layer's weights and the states of all slots. Projected rows q | k | v | z | b | a depend on
// slot and position only.
class Layer {
 public:
  Layer(Backend& backend, const Heads& heads, int32_t slots)
      : backend_(backend),
        heads_(heads),
        conv_weight_(backend, DType::kF32,
                     random_values(static_cast<size_t>(4 * heads.channels()), 1, 0.5F)),
        A_log_(backend, DType::kF32, random_values(static_cast<size_t>(heads.Hv), 2)),
        dt_bias_(backend, DType::kF32, random_values(static_cast<size_t>(heads.Hv), 3)),
        norm_weight_(backend, DType::kF32, random_values(static_cast<size_t>(heads.dim), 4)),
        conv_states_(backend, DType::kF32, static_cast<size_t>(slots * 3 * heads.channels())),
        states_(backend, DType::kF32, static_cast<size_t>(slots) * slot_floats()) {}

  void fill_states(float value) {
    for (const auto& [tensor, count] : {std::pair(&conv_states_, conv_states_.values().size()),
                                        std::pair(&states_, states_.values().size())}) {
      const std::vector<float> values(count, value);
      backend_.copy_to_device(tensor->data(), values.data(), count * sizeof(float));
    }
  }
  // NaN in the rows of this slot from now on.
  void poison(int32_t slot) { poisoned_ = slot; }

  // Output rows [B, Hv * dim] of a step.
  std::vector<float> run(const std::vector<Next>& tokens, Form form) {
    std::vector<float> rows;
    std::vector<SequenceRows> sequences;
    for (const Next& token : tokens) {
      const auto seed = static_cast<uint32_t>(10000 * token.slot + token.position + 50);
      auto row = random_values(static_cast<size_t>(heads_.stride()), seed);
      if (token.slot == poisoned_) {
        row.assign(row.size(), std::numeric_limits<float>::quiet_NaN());
      }
      rows.insert(rows.end(), row.begin(), row.end());
      SequenceRows sequence = make_sequences({{token.position, 1}}, 1)[0];
      sequence.slot = token.slot;
      sequence.recurrent = true;
      sequences.push_back(sequence);
    }
    const DType x = backend_.compute_dtype();
    const auto B = static_cast<int64_t>(tokens.size());
    const DeviceTensor projected(backend_, x, rows);
    const DeviceTensor convolved(backend_, x, static_cast<size_t>(B * heads_.channels()));
    const DeviceTensor core(backend_, x, static_cast<size_t>(B * heads_.values()));
    const DeviceTensor out(backend_, x, static_cast<size_t>(B * heads_.values()));
    const DeviceBatch batch(backend_, sequences);
    BatchView view = *batch.view();
    view.num_chunked = 0;
    const auto at = [&](int64_t column) {
      return static_cast<char*>(projected.data()) + column * dtype_size(x);
    };
    const DeltaDecodeArgs args = {.conv = {.batch = &view,
                                           .C = heads_.channels(),
                                           .x = projected.data(),
                                           .x_stride = heads_.stride(),
                                           .weight = conv_weight_.floats(),
                                           .conv_state = conv_states_.floats(),
                                           .out = convolved.data(),
                                           .out_stride = heads_.channels()},
                                  .rule = {.batch = &view,
                                           .num_k_heads = heads_.Hk,
                                           .num_v_heads = heads_.Hv,
                                           .dk = heads_.dim,
                                           .dv = heads_.dim,
                                           .qkv = convolved.data(),
                                           .qkv_stride = heads_.channels(),
                                           .b = at(heads_.channels() + heads_.values()),
                                           .a = at(heads_.channels() + heads_.values() + heads_.Hv),
                                           .ba_stride = heads_.stride(),
                                           .A_log = A_log_.floats(),
                                           .dt_bias = dt_bias_.floats(),
                                           .state = states_.floats(),
                                           .out = core.data(),
                                           .out_stride = heads_.values()},
                                  .norm = {.T = B,
                                           .num_heads = heads_.Hv,
                                           .head_dim = heads_.dim,
                                           .x = core.data(),
                                           .x_stride = heads_.values(),
                                           .z = at(heads_.channels()),
                                           .z_stride = heads_.stride(),
                                           .weight = norm_weight_.floats(),
                                           .out = out.data(),
                                           .out_stride = heads_.values()}};
    if (form == Form::kOps || !backend_.delta_decode(args)) {
      backend_.causal_conv1d(args.conv);
      backend_.gated_delta_rule(args.rule);
      backend_.gated_rms_norm(args.norm);
    }
    return out.values();
  }

  std::vector<float> conv_states() const { return conv_states_.values(); }
  std::vector<float> states() const { return states_.values(); }

 private:
  size_t slot_floats() const {
    const int64_t bytes = backend_.recurrent_state_bytes(
        {.num_v_heads = heads_.Hv, .dk = heads_.dim, .dv = heads_.dim});
    return static_cast<size_t>(bytes) / sizeof(float);
  }

  Backend& backend_;
  Heads heads_;
  DeviceTensor conv_weight_, A_log_, dt_bias_, norm_weight_, conv_states_, states_;
  int32_t poisoned_ = -1;
};

// One to four value heads a key head; the last is no size that a fused kernel may count on.
const std::vector<Heads> kShapes = {{3, 3}, {2, 4}, {1, 3}, {16, 48}, {2, 8}, {2, 4, 24}};

// Steps of a few sequences and of many, slots in no order: sequences come and go, and one begins in
// a slot that another has left.
std::vector<std::vector<Next>> make_steps(int32_t slots) {
  std::vector<std::vector<Next>> steps = {{{2, 0}},
                                          {{2, 1}, {0, 0}, {4, 0}},
                                          {{4, 1}, {2, 2}},
                                          {{0, 1}, {1, 0}, {4, 2}, {3, 0}, {2, 0}}};
  // All slots, then two thirds of them: kernels may choose by the number of sequences.
  for (int32_t position = 7; position < 11; ++position) {
    std::vector<Next>& step = steps.emplace_back();
    const int32_t count = position % 2 == 1 ? slots : slots * 2 / 3;
    for (int32_t s = 0; s < count; ++s) {
      step.push_back({.slot = (5 * s + 3) % slots, .position = position});
    }
  }
  return steps;
}

std::string name_of(const Heads& heads, size_t step) {
  return std::to_string(heads.Hk) + "/" + std::to_string(heads.Hv) + " heads of " +
         std::to_string(heads.dim) + ", step " + std::to_string(step);
}

class DeltaDecode : public testing::TestWithParam<BackendCase> {
 protected:
  std::unique_ptr<Backend> backend_ = make_case_backend(GetParam());
  std::unique_ptr<Backend> reference_ = make_reference_backend(GetParam().x_dtype);
};

TEST_P(DeltaDecode, MatchesOpsOfTheReference) {
  // Three results in bfloat16 after each other: each rounding is 1.7e-3.
  const double bound = GetParam().x_dtype == DType::kF32 ? 2e-5 : 5e-3;
  for (const Heads& heads : kShapes) {
    const int32_t slots = heads.Hv > 8 ? 6 : 33;
    Layer actual(*backend_, heads, slots);
    Layer expected(*reference_, heads, slots);
    const std::vector<std::vector<Next>> steps = make_steps(slots);
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_LT(relative_rms_error(actual.run(steps[i], Form::kFused),
                                   expected.run(steps[i], Form::kOps)),
                bound)
          << name_of(heads, i);
      expect_same_bits(actual.conv_states(), expected.conv_states(), "inputs kept");
    }
  }
}

TEST_P(DeltaDecode, KeepsTheBitsOfTheOps) {
  for (const Heads& heads : kShapes) {
    const int32_t slots = heads.Hv > 8 ? 6 : 33;
    Layer ops(*backend_, heads, slots);
    Layer fused(*backend_, heads, slots);
    Layer in_turn(*backend_, heads, slots);
    const std::vector<std::vector<Next>> steps = make_steps(slots);
    for (size_t i = 0; i < steps.size(); ++i) {
      const std::vector<float> expected = ops.run(steps[i], Form::kOps);
      expect_same_bits(fused.run(steps[i], Form::kFused), expected, name_of(heads, i));
      expect_same_bits(in_turn.run(steps[i], i % 2 == 0 ? Form::kOps : Form::kFused), expected,
                       name_of(heads, i) + ", forms in turn");
    }
    for (const Layer* layer : {&fused, &in_turn}) {
      expect_same_bits(layer->conv_states(), ops.conv_states(), "inputs kept");
      expect_same_bits(layer->states(), ops.states(), "states");
    }
  }
}

// A sequence that starts finds zeros whatever its slot holds, and NaN stays where it is.
TEST_P(DeltaDecode, NanStaysInItsSequence) {
  for (const Heads& heads : kShapes) {
    Layer layer(*backend_, heads, 3);
    layer.fill_states(std::nanf(""));
    layer.poison(1);
    for (int32_t position = 0; position < 5; ++position) {
      const std::vector<float> out =
          layer.run({{2, position}, {1, position}, {0, position}}, Form::kFused);
      const auto row = static_cast<size_t>(heads.values());
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(std::isnan(out[i]), i / row == 1) << name_of(heads, 0) << ", element " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeltaDecode, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
