// The gated delta rule of the CPU backend: the op against the definition, and that bits do not
// depend on the batch, the threads or how a prompt is cut at chunk borders.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/matrix_ops.h"
#include "cpu_test_util.h"
#include "delta_rule_golden.h"
#include "ops/batch_view.h"
#include "ops/reference/delta_rule.h"

namespace deltaserve {
namespace {

struct Sequence {
  int64_t context_len = 0;
  int64_t first_token = 0;  // into Model::x: which random rows it gets
  int64_t rows = 0;
  int32_t slot = 0;
  bool recurrent = false;
};

// Random inputs of one layer, and runs of the op over batches of sequences of them.
struct Model {
  CpuContext context;
  int32_t Hk = 2;
  int32_t Hv = 4;
  int32_t dk;
  int32_t dv;
  int64_t qkv_width;
  int64_t tokens = 300;
  std::vector<float> qkv, ab, A_log, dt_bias;
  std::vector<float> states;

  Model(DType x, CpuIsa isa, int32_t threads, int32_t key_dim, int32_t value_dim)
      : context(x, isa, threads), dk(key_dim), dv(value_dim), qkv_width(2 * Hk * dk + Hv * dv) {
    qkv = uniform_values(static_cast<size_t>(tokens * qkv_width), 31);
    ab = uniform_values(static_cast<size_t>(tokens * 2 * Hv), 32, 2.0F);
    A_log = uniform_values(static_cast<size_t>(Hv), 33);
    dt_bias = uniform_values(static_cast<size_t>(Hv), 34);
    states.assign(static_cast<size_t>(slots() * slot_floats()), 3.0F);
  }
  static int64_t slots() { return 4; }
  int64_t slot_floats() const {
    return cpu_recurrent_state_bytes({.num_v_heads = Hv, .dk = dk, .dv = dv}) / 4;
  }
  std::vector<float> slot(int32_t index) const {
    return {states.begin() + index * slot_floats(), states.begin() + (index + 1) * slot_floats()};
  }

  // The output rows of all sequences in order, as float32.
  std::vector<float> run(const std::vector<Sequence>& sequences) {
    std::vector<float> x;
    std::vector<float> gates;
    std::vector<int32_t> starts = {0};
    std::vector<int32_t> context_lens;
    std::vector<int32_t> state_slots;
    std::vector<uint8_t> recurrent;
    for (const Sequence& s : sequences) {
      x.insert(x.end(), qkv.begin() + s.first_token * qkv_width,
               qkv.begin() + (s.first_token + s.rows) * qkv_width);
      gates.insert(gates.end(), ab.begin() + s.first_token * 2 * Hv,
                   ab.begin() + (s.first_token + s.rows) * 2 * Hv);
      starts.push_back(starts.back() + static_cast<int32_t>(s.rows));
      context_lens.push_back(static_cast<int32_t>(s.context_len));
      state_slots.push_back(s.slot);
      recurrent.push_back(s.recurrent ? 1 : 0);
    }
    BatchView batch;
    batch.num_tokens = starts.back();
    batch.num_seqs = static_cast<int32_t>(sequences.size());
    batch.cu_seqlens = starts.data();
    batch.context_lens = context_lens.data();
    batch.state_slots = state_slots.data();
    batch.recurrent = recurrent.data();
    const DType dtype = context.compute_dtype;
    const auto x_bytes = to_x(dtype, x);
    const auto gate_bytes = to_x(dtype, gates);
    std::vector<std::byte> out(
        static_cast<size_t>(int64_t{batch.num_tokens} * Hv * dv * dtype_size(dtype)));
    cpu_gated_delta_rule(context, {.batch = &batch,
                                   .num_k_heads = Hk,
                                   .num_v_heads = Hv,
                                   .dk = dk,
                                   .dv = dv,
                                   .qkv = x_bytes.data(),
                                   .qkv_stride = qkv_width,
                                   .b = gate_bytes.data(),
                                   .a = gate_bytes.data() + Hv * dtype_size(dtype),
                                   .ba_stride = 2 * Hv,
                                   .A_log = A_log.data(),
                                   .dt_bias = dt_bias.data(),
                                   .state = states.data(),
                                   .out = out.data(),
                                   .out_stride = int64_t{Hv} * dv});
    return from_x(dtype, out);
  }
};

std::vector<float> joined(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The definition, from zero state, with gates as the op's contract gives them.
std::vector<float> expected_rows(const Model& m, int64_t rows) {
  std::vector<float> out(static_cast<size_t>(rows * m.Hv * m.dv));
  for (int64_t h = 0; h < m.Hv; ++h) {
    std::vector<float> g;
    std::vector<float> beta;
    for (int64_t t = 0; t < rows; ++t) {
      const double b = m.ab[static_cast<size_t>(t * 2 * m.Hv + h)];
      const double a = m.ab[static_cast<size_t>(t * 2 * m.Hv + m.Hv + h)];
      const auto head = static_cast<size_t>(h);
      g.push_back(static_cast<float>(-std::exp(static_cast<double>(m.A_log[head])) *
                                     std::log1p(std::exp(a + m.dt_bias[head]))));
      beta.push_back(static_cast<float>(1.0 / (1.0 + std::exp(-b))));
    }
    std::vector<float> state(static_cast<size_t>(m.dk * m.dv));
    const int64_t key = h / (m.Hv / m.Hk) * m.dk;
    reference::delta_rule({.tokens = rows,
                           .dk = m.dk,
                           .dv = m.dv,
                           .q = m.qkv.data() + key,
                           .k = m.qkv.data() + m.Hk * m.dk + key,
                           .qk_stride = m.qkv_width,
                           .v = m.qkv.data() + 2 * m.Hk * m.dk + h * m.dv,
                           .v_stride = m.qkv_width,
                           .g = g.data(),
                           .beta = beta.data(),
                           .gate_stride = 1,
                           .state = state.data(),
                           .out = out.data() + h * m.dv,
                           .out_stride = int64_t{m.Hv} * m.dv});
  }
  return out;
}

class CpuGatedDeltaRule : public testing::TestWithParam<CpuIsa> {};

TEST_P(CpuGatedDeltaRule, OpMatchesTheDefinition) {
  for (const auto& [dk, dv] : {std::pair{32, 32}, std::pair{128, 128}, std::pair{24, 48}}) {
    for (const bool recurrent : {false, true}) {
      Model model(DType::kF32, GetParam(), 2, dk, dv);
      const auto out = model.run({{.rows = 150, .recurrent = recurrent}});
      EXPECT_LT(relative_rms_error(out, expected_rows(model, 150)), 3e-6) << dk << " " << dv;
    }
  }
}

TEST_P(CpuGatedDeltaRule, Bf16RowsAreTheFloatRowsRounded) {
  Model wide(DType::kF32, GetParam(), 2, 32, 64);
  Model narrow(DType::kBF16, GetParam(), 2, 32, 64);
  const auto expected = wide.run({{.rows = 100}});
  const auto rounded = from_x(DType::kBF16, to_x(DType::kBF16, expected));
  const auto out = narrow.run({{.rows = 100}});
  if (GetParam() == CpuIsa::kAmx) {  // has tiles for bfloat16 alone
    EXPECT_LT(relative_rms_error(out, rounded), 5e-4);
    EXPECT_LT(relative_rms_error(narrow.slot(0), wide.slot(0)), 1e-5);
    return;
  }
  // Inputs are exact in bfloat16, so both compute the same.
  EXPECT_EQ(out, rounded);
  EXPECT_EQ(narrow.slot(0), wide.slot(0));
}

TEST_P(CpuGatedDeltaRule, CutsAtChunkBordersKeepBits) {
  Model whole(DType::kF32, GetParam(), 2, 32, 64);
  const auto expected = whole.run({{.rows = 250}});
  Model cut(DType::kF32, GetParam(), 1, 32, 64);
  auto out = cut.run({{.rows = 64}});
  out = joined(out, cut.run({{.context_len = 64, .first_token = 64, .rows = 128}}));
  out = joined(out, cut.run({{.context_len = 192, .first_token = 192, .rows = 58}}));
  EXPECT_EQ(out, expected);
  EXPECT_EQ(cut.slot(0), whole.slot(0));

  // Elsewhere a cut agrees within rounding, and is back on the borders after it.
  Model odd(DType::kF32, GetParam(), 1, 32, 64);
  out = odd.run({{.rows = 50}});
  out = joined(out, odd.run({{.context_len = 50, .first_token = 50, .rows = 200}}));
  EXPECT_LT(relative_rms_error(out, expected), 3e-6);
}

TEST_P(CpuGatedDeltaRule, BatchAndThreadsKeepBits) {
  const Sequence prompt{.rows = 130, .slot = 0};
  const Sequence other{.first_token = 130, .rows = 70, .slot = 1};
  const Sequence decode{
      .context_len = 9, .first_token = 200, .rows = 1, .slot = 2, .recurrent = true};
  Model alone(DType::kBF16, GetParam(), 1, 32, 64);
  auto expected = alone.run({decode});
  expected = joined(expected, alone.run({prompt}));
  expected = joined(expected, alone.run({other}));
  for (const int32_t threads : {1, 2, 3, 8}) {
    Model together(DType::kBF16, GetParam(), threads, 32, 64);
    EXPECT_EQ(together.run({decode, prompt, other}), expected) << threads << " threads";
    for (const int32_t slot : {0, 1, 2}) {
      EXPECT_EQ(together.slot(slot), alone.slot(slot));
    }
  }
}

TEST_P(CpuGatedDeltaRule, ReplayOfDecodedTokensKeepsBits) {
  Model one_by_one(DType::kBF16, GetParam(), 2, 32, 32);
  auto expected = one_by_one.run({{.rows = 40}});
  Model replay(DType::kBF16, GetParam(), 2, 32, 32);
  auto out = replay.run({{.rows = 40}});
  for (int64_t t = 40; t < 140; ++t) {
    expected = joined(
        expected,
        one_by_one.run({{.context_len = t, .first_token = t, .rows = 1, .recurrent = true}}));
  }
  out = joined(
      out, replay.run({{.context_len = 40, .first_token = 40, .rows = 100, .recurrent = true}}));
  EXPECT_EQ(out, expected);
  EXPECT_EQ(replay.slot(0), one_by_one.slot(0));
}

TEST_P(CpuGatedDeltaRule, StartOfASequenceIgnoresItsSlot) {
  Model clean(DType::kF32, GetParam(), 2, 32, 32);
  std::fill(clean.states.begin(), clean.states.end(), 0.0F);
  Model dirty(DType::kF32, GetParam(), 2, 32, 32);
  std::fill(dirty.states.begin(), dirty.states.end(), std::nanf(""));
  for (const bool recurrent : {false, true}) {
    const Sequence start{.rows = 5, .slot = 3, .recurrent = recurrent};
    EXPECT_EQ(dirty.run({start}), clean.run({start}));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuGatedDeltaRule, testing::ValuesIn(machine_isas()),
                         [](const auto& isa) { return std::string(cpu_isa_name(isa.param)); });

}  // namespace
}  // namespace deltaserve
