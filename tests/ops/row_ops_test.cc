// Norms, rotary embedding and convolution against the reference, and bit by bit against themselves
// where the contract promises it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend_pair.h"

namespace deltaserve {
namespace {

class RowOps : public BackendPair {};

struct NormResult {
  std::vector<float> residual;
  std::vector<float> out;
};

NormResult run_add_rms_norm(Backend& backend, int64_t T, int64_t H, bool with_delta) {
  const auto n = static_cast<size_t>(T * H);
  const DType x = backend.compute_dtype();
  DeviceTensor residual(backend, DType::kF32, random_values(n, 1, 3.0F));
  DeviceTensor delta(backend, DType::kF32, random_values(n, 2));
  DeviceTensor weight(backend, DType::kF32, random_values(static_cast<size_t>(H), 3, 0.2F));
  DeviceTensor out(backend, x, n);
  backend.add_rms_norm({.T = T,
                        .H = H,
                        .residual = residual.floats(),
                        .delta = with_delta ? delta.floats() : nullptr,
                        .weight = weight.floats(),
                        .out = out.data()});
  return {residual.values(), out.values()};
}

TEST_P(RowOps, AddRmsNorm) {
  for (const int64_t H : {64, 1024, 2560, 83}) {
    for (const bool with_delta : {false, true}) {
      const NormResult actual = run_add_rms_norm(*backend_, 9, H, with_delta);
      const NormResult expected = run_add_rms_norm(*reference_, 9, H, with_delta);
      expect_same_bits(actual.residual, expected.residual, "residual");
      expect_close(actual.out, expected.out, tolerance_, 1e-6, "out");
    }
  }
}

TEST_P(RowOps, AddRmsNormRowDoesNotDependOnTheBatch) {
  const NormResult all = run_add_rms_norm(*backend_, 33, 1024, true);
  const NormResult one = run_add_rms_norm(*backend_, 1, 1024, true);
  expect_same_bits(one.out, {all.out.begin(), all.out.begin() + 1024}, "row 0");
}

TEST_P(RowOps, AddRmsNormKeepsNan) {
  std::vector<float> values = random_values(256, 1);
  values[77] = std::numeric_limits<float>::quiet_NaN();
  DeviceTensor residual(*backend_, DType::kF32, values);
  DeviceTensor weight(*backend_, DType::kF32, random_values(256, 2));
  DeviceTensor out(*backend_, x_, 256);
  backend_->add_rms_norm({.T = 1,
                          .H = 256,
                          .residual = residual.floats(),
                          .weight = weight.floats(),
                          .out = out.data()});
  for (const float value : out.values()) {
    EXPECT_TRUE(std::isnan(value));
  }
}

struct GatedNormShape {
  int64_t T;
  int32_t heads;
  int32_t head_dim;
};

std::vector<float> run_gated_rms_norm(Backend& backend, const GatedNormShape& shape) {
  const int64_t width = int64_t{shape.heads} * shape.head_dim;
  const int64_t z_stride = width + 48;  // z lies in a wider projection
  const DType x = backend.compute_dtype();
  DeviceTensor in(backend, x, random_values(static_cast<size_t>(shape.T * width), 1));
  DeviceTensor z(backend, x, random_values(static_cast<size_t>(shape.T * z_stride), 2, 4.0F));
  DeviceTensor weight(backend, DType::kF32, random_values(static_cast<size_t>(shape.head_dim), 3));
  DeviceTensor out(backend, x, static_cast<size_t>(shape.T * width));
  backend.gated_rms_norm({.T = shape.T,
                          .num_heads = shape.heads,
                          .head_dim = shape.head_dim,
                          .x = in.data(),
                          .x_stride = width,
                          .z = z.data(),
                          .z_stride = z_stride,
                          .weight = weight.floats(),
                          .out = out.data(),
                          .out_stride = width});
  return out.values();
}

TEST_P(RowOps, GatedRmsNorm) {
  for (const GatedNormShape& shape :
       {GatedNormShape{5, 4, 32}, GatedNormShape{19, 16, 128}, GatedNormShape{3, 48, 128},
        GatedNormShape{2, 17, 256}, GatedNormShape{1, 1, 64}}) {
    expect_close(run_gated_rms_norm(*backend_, shape), run_gated_rms_norm(*reference_, shape),
                 tolerance_, 1e-6, "gated_rms_norm");
  }
}

struct RopeShape {
  int32_t heads;
  int32_t kv_heads;
  int32_t head_dim;
  int32_t rotary_dim;
};

struct RopeResult {
  std::vector<float> q;
  std::vector<float> k;
};

// Positions differ by axis, as they do for images, and reach the end of the context window.
RopeResult run_qk_norm_rope(Backend& backend, const RopeShape& shape, int32_t tokens) {
  const DType x = backend.compute_dtype();
  const int64_t q_head_stride = 2 * shape.head_dim;  // the gate follows each query head
  const int64_t q_stride = shape.heads * q_head_stride;
  const int64_t k_stride = int64_t{shape.kv_heads} * shape.head_dim;
  DeviceTensor q(backend, x, random_values(static_cast<size_t>(tokens * q_stride), 1));
  DeviceTensor k(backend, x, random_values(static_cast<size_t>(tokens * k_stride), 2));
  const auto hd = static_cast<size_t>(shape.head_dim);
  DeviceTensor q_weight(backend, DType::kF32, random_values(hd, 3, 0.3F));
  DeviceTensor k_weight(backend, DType::kF32, random_values(hd, 4, 0.3F));
  std::vector<float> inv_freq;
  std::vector<uint8_t> axes;
  for (int32_t j = 0; j < shape.rotary_dim / 2; ++j) {
    inv_freq.push_back(
        std::pow(1e7F, -2.0F * static_cast<float>(j) / static_cast<float>(shape.rotary_dim)));
    axes.push_back(static_cast<uint8_t>(j % 3));
  }
  DeviceTensor device_inv_freq(backend, DType::kF32, inv_freq);
  DeviceArray<uint8_t> device_axes(backend, axes);
  std::vector<int32_t> positions;
  for (int32_t axis = 0; axis < 3; ++axis) {
    for (int32_t t = 0; t < tokens; ++t) {
      positions.push_back(t * 29989 % 262144 + axis * 7);
    }
  }
  DeviceArray<int32_t> device_positions(backend, positions);
  const BatchView batch{.num_tokens = tokens, .positions = device_positions.data()};
  backend.qk_norm_rope({.batch = &batch,
                        .num_heads = shape.heads,
                        .num_kv_heads = shape.kv_heads,
                        .head_dim = shape.head_dim,
                        .rotary_dim = shape.rotary_dim,
                        .q = q.data(),
                        .q_stride = q_stride,
                        .q_head_stride = q_head_stride,
                        .k = k.data(),
                        .k_stride = k_stride,
                        .q_weight = q_weight.floats(),
                        .k_weight = k_weight.floats(),
                        .inv_freq = device_inv_freq.floats(),
                        .mrope_axis = device_axes.data(),
                        .attention_factor = 1.1F});
  return {q.values(), k.values()};
}

TEST_P(RowOps, QkNormRope) {
  for (const RopeShape& shape : {RopeShape{4, 2, 32, 8}, RopeShape{8, 2, 256, 64}}) {
    const RopeResult actual = run_qk_norm_rope(*backend_, shape, 11);
    const RopeResult expected = run_qk_norm_rope(*reference_, shape, 11);
    // Two products are subtracted: the error is that of their size, not of the difference.
    expect_close(actual.q, expected.q, tolerance_, 4e-6, "q and the gates between");
    expect_close(actual.k, expected.k, tolerance_, 4e-6, "k");
  }
}

struct ConvResult {
  std::vector<float> out;
  std::vector<float> state;
};

// Runs the sequences over rows of x that depend on the absolute position only.
ConvResult run_conv(Backend& backend, const std::vector<SequenceRows>& sequences, int64_t C,
                    DeviceTensor& state) {
  const DType x = backend.compute_dtype();
  std::vector<float> rows;
  for (const SequenceRows& sequence : sequences) {
    for (int32_t row = 0; row < sequence.rows; ++row) {
      const auto seed = static_cast<uint32_t>(1000 * sequence.slot + sequence.context_len + row);
      const std::vector<float> values = random_values(static_cast<size_t>(C), seed);
      rows.insert(rows.end(), values.begin(), values.end());
    }
  }
  DeviceTensor in(backend, x, rows);
  DeviceTensor weight(backend, DType::kF32, random_values(static_cast<size_t>(4 * C), 5));
  DeviceTensor out(backend, x, rows.size());
  const DeviceBatch batch(backend, sequences);
  backend.causal_conv1d({.batch = batch.view(),
                         .C = C,
                         .x = in.data(),
                         .x_stride = C,
                         .weight = weight.floats(),
                         .conv_state = state.floats(),
                         .out = out.data(),
                         .out_stride = C});
  return {out.values(), state.values()};
}

TEST_P(RowOps, CausalConv1d) {
  // Decodes, a fresh prefill shorter than the kernel, a continued one; slots out of order.
  std::vector<SequenceRows> sequences =
      make_sequences({{9, 1}, {0, 2}, {0, 40}, {5, 1}, {64, 17}}, 1);
  std::swap(sequences[0].slot, sequences[3].slot);
  for (const int64_t C : {256, 6144, 83}) {
    const auto state_values = random_values(static_cast<size_t>(5 * 3 * C), 7);
    DeviceTensor state(*backend_, DType::kF32, state_values);
    DeviceTensor reference_state(*reference_, DType::kF32, state_values);
    const ConvResult actual = run_conv(*backend_, sequences, C, state);
    const ConvResult expected = run_conv(*reference_, sequences, C, reference_state);
    expect_close(actual.out, expected.out, tolerance_, 2e-6, "out");
    expect_same_bits(actual.state, expected.state, "state");
  }
}

// With taps (0, 0, 0, 1) the convolution is silu(x): the accuracy of the vector exp over its range.
TEST_P(RowOps, SiluIsAccurateAndKeepsNonFinite) {
  std::vector<float> x = {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), 0.0F, 200.0F, -200.0F};
  for (float value = -87.0F; value < 100.0F; value += 0.0371F) {
    x.push_back(to_float(to_bfloat16(value)));
  }
  const auto C = static_cast<int64_t>(x.size());
  std::vector<float> taps(x.size() * 4, 0.0F);
  for (size_t c = 0; c < x.size(); ++c) {
    taps[c * 4 + 3] = 1.0F;
  }
  const DeviceTensor in(*backend_, x_, x);
  const DeviceTensor weight(*backend_, DType::kF32, taps);
  const DeviceTensor state(*backend_, DType::kF32, x.size() * 3);
  const DeviceTensor out(*backend_, x_, x.size());
  const DeviceBatch batch(*backend_, make_sequences({{0, 1}}, 1));
  backend_->causal_conv1d({.batch = batch.view(),
                           .C = C,
                           .x = in.data(),
                           .x_stride = C,
                           .weight = weight.floats(),
                           .conv_state = state.floats(),
                           .out = out.data(),
                           .out_stride = C});
  const std::vector<float> actual = out.values();
  EXPECT_TRUE(std::isnan(actual[0]));
  EXPECT_EQ(actual[1], std::numeric_limits<float>::infinity());
  EXPECT_EQ(actual[2], 0.0F);
  EXPECT_EQ(actual[3], 200.0F);
  EXPECT_EQ(actual[4], 0.0F);
  // 2 ulp of exp, and the roundings of the sum, the quotient and the product.
  const double tolerance = x_ == DType::kF32 ? 4e-7 : 0x1p-8;
  for (size_t i = 5; i < x.size(); ++i) {
    const double value = x[i];
    const double exact = value / (1.0 + std::exp(-value));
    EXPECT_NEAR(actual[i], exact, tolerance * std::abs(exact)) << value;
  }
}

TEST_P(RowOps, CausalConv1dSameBitsForAnyCut) {
  constexpr int64_t kC = 320;
  constexpr int32_t kTokens = 50;
  DeviceTensor state(*backend_, DType::kF32, 3 * kC);
  const auto whole = run_conv(*backend_, make_sequences({{0, kTokens}}, 1), kC, state).out;
  for (const int32_t cut : {1, 2, 3, 16, 33, 49}) {
    DeviceTensor cut_state(*backend_, DType::kF32, 3 * kC);
    auto parts = run_conv(*backend_, make_sequences({{0, cut}}, 1), kC, cut_state).out;
    for (int32_t t = cut; t < kTokens; ++t) {
      const auto one = run_conv(*backend_, make_sequences({{t, 1}}, 1), kC, cut_state).out;
      parts.insert(parts.end(), one.begin(), one.end());
    }
    expect_same_bits(parts, whole, "cut at " + std::to_string(cut));
    expect_same_bits(cut_state.values(), state.values(), "state");
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowOps, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
