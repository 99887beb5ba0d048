// Convolution and delta rule over tokens that count and drafts behind them: states stay those of
// the tokens that count, with the bits of decoding these one by one, and drafts get outputs as if
// they counted too.
#include <gtest/gtest.h>

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
  int64_t stride() const { return (channels() + 2 * Hv + 31) / 32 * 32; }
};

// Rows of a sequence in a step: `stored` tokens that count, then drafts.
struct Window {
  int32_t slot = 0;
  int32_t position = 0;
  int32_t stored = 1;
  int32_t drafts = 0;
};

constexpr int32_t kSlots = 4;

// A layer's states. Rows q | k | v | b | a of a token depend on slot and position, those of a draft
// on where its window begins as well.
class Layer {
 public:
  Layer(Backend& backend, const Heads& heads)
      : backend_(backend),
        heads_(heads),
        conv_weight_(backend, DType::kF32,
                     random_values(static_cast<size_t>(4 * heads.channels()), 1, 0.5F)),
        A_log_(backend, DType::kF32, random_values(static_cast<size_t>(heads.Hv), 2)),
        dt_bias_(backend, DType::kF32, random_values(static_cast<size_t>(heads.Hv), 3)),
        conv_states_(backend, DType::kF32, static_cast<size_t>(kSlots * 3 * heads.channels())),
        states_(backend, DType::kF32, kSlots * slot_floats()) {}

  // Output rows of all windows in order: tokens that count, and drafts.
  struct Outputs {
    std::vector<float> stored;
    std::vector<float> drafts;
  };
  Outputs run(const std::vector<Window>& windows) {
    std::vector<float> rows;
    std::vector<SequenceRows> sequences;
    std::vector<int32_t> stored_lens;
    for (const Window& window : windows) {
      const int32_t count = window.stored + window.drafts;
      for (int32_t i = 0; i < count; ++i) {
        auto seed = static_cast<uint32_t>(1000 * window.slot + window.position + i + 50);
        if (i >= window.stored) seed += static_cast<uint32_t>(100000 * (window.position + 1));
        const auto row = random_values(static_cast<size_t>(heads_.stride()), seed);
        rows.insert(rows.end(), row.begin(), row.end());
      }
      SequenceRows sequence = make_sequences({{window.position, count}}, 1)[0];
      sequence.slot = window.slot;
      sequence.recurrent = true;
      sequences.push_back(sequence);
      stored_lens.push_back(window.stored);
    }
    const std::vector<float> out = run_rows(rows, sequences, stored_lens);
    Outputs outputs;
    auto from = out.begin();
    for (const Window& window : windows) {
      const auto middle = from + window.stored * heads_.values();
      const auto end = middle + window.drafts * heads_.values();
      outputs.stored.insert(outputs.stored.end(), from, middle);
      outputs.drafts.insert(outputs.drafts.end(), middle, end);
      from = end;
    }
    return outputs;
  }

  std::vector<float> conv_states() const { return conv_states_.values(); }
  std::vector<float> states() const { return states_.values(); }

 private:
  std::vector<float> run_rows(const std::vector<float>& rows,
                              const std::vector<SequenceRows>& sequences,
                              const std::vector<int32_t>& stored_lens) {
    const DType x = backend_.compute_dtype();
    const auto T = static_cast<int64_t>(rows.size()) / heads_.stride();
    const DeviceTensor projected(backend_, x, rows);
    const DeviceTensor convolved(backend_, x, static_cast<size_t>(T * heads_.channels()));
    const DeviceTensor out(backend_, x, static_cast<size_t>(T * heads_.values()));
    const DeviceBatch batch(backend_, sequences);
    const DeviceArray<int32_t> stored(backend_, stored_lens);
    BatchView view = *batch.view();
    view.num_chunked = 0;
    view.stored_lens = stored.data();
    const auto at = [&](int64_t column) {
      return static_cast<char*>(projected.data()) + column * dtype_size(x);
    };
    backend_.causal_conv1d({.batch = &view,
                            .C = heads_.channels(),
                            .x = projected.data(),
                            .x_stride = heads_.stride(),
                            .weight = conv_weight_.floats(),
                            .conv_state = conv_states_.floats(),
                            .out = convolved.data(),
                            .out_stride = heads_.channels()});
    backend_.gated_delta_rule({.batch = &view,
                               .num_k_heads = heads_.Hk,
                               .num_v_heads = heads_.Hv,
                               .dk = heads_.dim,
                               .dv = heads_.dim,
                               .qkv = convolved.data(),
                               .qkv_stride = heads_.channels(),
                               .b = at(heads_.channels()),
                               .a = at(heads_.channels() + heads_.Hv),
                               .ba_stride = heads_.stride(),
                               .A_log = A_log_.floats(),
                               .dt_bias = dt_bias_.floats(),
                               .state = states_.floats(),
                               .out = out.data(),
                               .out_stride = heads_.values()});
    return out.values();
  }

  size_t slot_floats() const {
    const int64_t bytes = backend_.recurrent_state_bytes(
        {.num_v_heads = heads_.Hv, .dk = heads_.dim, .dv = heads_.dim});
    return static_cast<size_t>(bytes) / sizeof(float);
  }

  Backend& backend_;
  Heads heads_;
  DeviceTensor conv_weight_, A_log_, dt_bias_, conv_states_, states_;
};

const std::vector<Heads> kShapes = {{2, 4}, {1, 3}, {2, 4, 24}};

// As speculative decoding has them: what was accepted of the last window and the token after it,
// then new drafts. Beside them a sequence that is decoded plainly, and one that begins.
const std::vector<std::vector<Window>> kSteps = {{{2, 0, 1, 7}, {0, 40, 1, 0}},
                                                 {{2, 1, 1, 3}, {0, 41, 1, 2}, {3, 0, 2, 3}},
                                                 {{0, 42, 3, 5}, {2, 2, 4, 4}, {3, 2, 1, 1}},
                                                 {{2, 6, 8, 0}, {3, 3, 2, 6}, {0, 45, 1, 20}},
                                                 {{3, 5, 1, 0}, {0, 46, 17, 3}, {2, 14, 2, 1}}};

class DraftStates : public testing::TestWithParam<BackendCase> {
 protected:
  std::unique_ptr<Backend> backend_ = make_case_backend(GetParam());
  std::unique_ptr<Backend> reference_ = make_reference_backend(GetParam().x_dtype);
};

TEST_P(DraftStates, StayThoseOfDecodedTokens) {
  for (const Heads& heads : kShapes) {
    Layer drafting(*backend_, heads);
    Layer plain(*backend_, heads);
    for (const std::vector<Window>& step : kSteps) {
      std::vector<float> expected;
      for (const Window& window : step) {
        for (int32_t i = 0; i < window.stored; ++i) {
          const auto out = plain.run({{.slot = window.slot, .position = window.position + i}});
          expected.insert(expected.end(), out.stored.begin(), out.stored.end());
        }
      }
      expect_same_bits(drafting.run(step).stored, expected, "output");
      expect_same_bits(drafting.conv_states(), plain.conv_states(), "inputs kept");
      expect_same_bits(drafting.states(), plain.states(), "states");
    }
  }
}

TEST_P(DraftStates, MatchTheReference) {
  const double bound = GetParam().x_dtype == DType::kF32 ? 1e-5 : 3.5e-3;
  for (const Heads& heads : kShapes) {
    Layer actual(*backend_, heads);
    Layer expected(*reference_, heads);
    for (const std::vector<Window>& step : kSteps) {
      const Layer::Outputs a = actual.run(step);
      const Layer::Outputs b = expected.run(step);
      EXPECT_LT(relative_rms_error(a.stored, b.stored), bound);
      EXPECT_LT(relative_rms_error(a.drafts, b.drafts), bound);
      expect_same_bits(actual.conv_states(), expected.conv_states(), "inputs kept");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DraftStates, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
