// The vision tower's ops against the reference, and bit by bit against themselves where the
// contract promises that a row depends on itself and its segment only.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend_pair.h"
#include "cpu_test_util.h"

namespace deltaserve {
namespace {

class VisionOps : public BackendPair {};

class VisionBits : public VisionOps {};

struct LinearShape {
  int64_t M;
  int64_t N;
  int64_t K;
};

std::vector<float> run_linear_bias(Backend& backend, const LinearShape& s, Activation activation,
                                   bool out_float, const std::vector<float>& x_values) {
  const DType x = backend.compute_dtype();
  const OwnedTensor w(DType::kBF16, {s.N, s.K},
                      uniform_values(static_cast<size_t>(s.N * s.K), 2, 0.2F));
  const auto weight = backend.make_linear({&w.view, 1}).value();
  const DeviceTensor in(backend, x, x_values);
  const DeviceTensor bias(backend, DType::kF32, random_values(static_cast<size_t>(s.N), 3));
  const DeviceTensor out(backend, out_float ? DType::kF32 : x, static_cast<size_t>(s.M * s.N));
  backend.linear_bias({.linear = {.M = s.M,
                                  .x = in.data(),
                                  .x_stride = s.K,
                                  .weight = weight.get(),
                                  .out = out.data(),
                                  .out_stride = s.N,
                                  .out_float = out_float},
                       .bias = bias.floats(),
                       .activation = activation});
  return out.values();
}

TEST_P(VisionOps, LinearBias) {
  for (const LinearShape& s : {LinearShape{1, 48, 64}, LinearShape{7, 100, 96},
                               LinearShape{40, 144, 48}, LinearShape{19, 33, 1536}}) {
    const auto x = random_values(static_cast<size_t>(s.M * s.K), 1);
    for (const Activation activation :
         {Activation::kNone, Activation::kGeluTanh, Activation::kGeluErf}) {
      for (const bool out_float : {false, true}) {
        const double relative = out_float ? 1e-5 : std::max(tolerance_, 1e-5);
        expect_close(run_linear_bias(*backend_, s, activation, out_float, x),
                     run_linear_bias(*reference_, s, activation, out_float, x), relative,
                     1e-6 * std::sqrt(static_cast<double>(s.K)),
                     "activation " + std::to_string(static_cast<int>(activation)));
      }
    }
  }
}

// A weight of zeros leaves the bias: the activations over their whole range against double.
TEST_P(VisionOps, GeluIsAccurateAndKeepsNonFinite) {
  std::vector<float> bias = {std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity(), 0.0F, 200.0F, -200.0F};
  for (float value = -15.0F; value < 15.0F; value += 0.0137F) {
    bias.push_back(value);
  }
  const auto N = static_cast<int64_t>(bias.size());
  const OwnedTensor w(DType::kBF16, {N, 32}, std::vector<float>(bias.size() * 32));
  const auto weight = backend_->make_linear({&w.view, 1}).value();
  const DeviceTensor in(*backend_, x_, 32);
  const DeviceTensor device_bias(*backend_, DType::kF32, bias);
  const DeviceTensor out(*backend_, DType::kF32, bias.size());
  for (const Activation activation : {Activation::kGeluTanh, Activation::kGeluErf}) {
    backend_->linear_bias({.linear = {.M = 1,
                                      .x = in.data(),
                                      .x_stride = 32,
                                      .weight = weight.get(),
                                      .out = out.data(),
                                      .out_stride = N,
                                      .out_float = true},
                           .bias = device_bias.floats(),
                           .activation = activation});
    const std::vector<float> actual = out.values();
    EXPECT_TRUE(std::isnan(actual[0]));
    EXPECT_EQ(actual[1], std::numeric_limits<float>::infinity());
    EXPECT_EQ(actual[2], 0.0F);
    EXPECT_EQ(actual[3], 200.0F);
    EXPECT_EQ(actual[4], 0.0F);
    for (size_t i = 5; i < bias.size(); ++i) {
      const double x = bias[i];
      const double exact =
          activation == Activation::kGeluErf
              ? 0.5 * x * std::erfc(-x / std::sqrt(2.0))
              : 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
      ASSERT_NEAR(actual[i], exact, 4e-7 * std::abs(x) + 1e-7) << x;
    }
  }
}

TEST_P(VisionBits, LinearBiasRowDoesNotDependOnTheBatch) {
  const LinearShape all{600, 144, 64};
  const auto x = random_values(static_cast<size_t>(all.M * all.K), 1);
  const auto whole = run_linear_bias(*backend_, all, Activation::kGeluTanh, false, x);
  const LinearShape one{1, all.N, all.K};
  const auto row = run_linear_bias(*backend_, one, Activation::kGeluTanh, false,
                                   {x.begin() + 577 * all.K, x.begin() + 578 * all.K});
  expect_same_bits(row, {whole.begin() + 577 * all.N, whole.begin() + 578 * all.N}, "row 577");
}

struct NormResult {
  std::vector<float> residual;
  std::vector<float> out;
};

NormResult run_add_layer_norm(Backend& backend, int64_t T, int64_t H, bool with_delta) {
  const auto n = static_cast<size_t>(T * H);
  std::vector<float> values = random_values(n, 1, 3.0F);
  for (float& value : values) {
    value += 5.0F;  // a mean far from zero: a one-pass variance would show
  }
  const DeviceTensor residual(backend, DType::kF32, values);
  const DeviceTensor delta(backend, DType::kF32, random_values(n, 2));
  const DeviceTensor weight(backend, DType::kF32, random_values(static_cast<size_t>(H), 3));
  const DeviceTensor bias(backend, DType::kF32, random_values(static_cast<size_t>(H), 4));
  const DeviceTensor out(backend, backend.compute_dtype(), n);
  backend.add_layer_norm({.T = T,
                          .H = H,
                          .residual = residual.floats(),
                          .delta = with_delta ? delta.floats() : nullptr,
                          .weight = weight.floats(),
                          .bias = bias.floats(),
                          .out = out.data()});
  return {residual.values(), out.values()};
}

TEST_P(VisionOps, AddLayerNorm) {
  for (const int64_t H : {48, 768, 1152, 83}) {
    for (const bool with_delta : {false, true}) {
      const NormResult actual = run_add_layer_norm(*backend_, 9, H, with_delta);
      const NormResult expected = run_add_layer_norm(*reference_, 9, H, with_delta);
      expect_same_bits(actual.residual, expected.residual, "residual");
      expect_close(actual.out, expected.out, tolerance_, 4e-6, "out");
    }
  }
}

TEST_P(VisionBits, AddLayerNormRowDoesNotDependOnTheBatch) {
  const NormResult all = run_add_layer_norm(*backend_, 33, 1152, true);
  const NormResult one = run_add_layer_norm(*backend_, 1, 1152, true);
  // The first row of both has the same values: they come from the same seed.
  expect_same_bits(one.out, {all.out.begin(), all.out.begin() + 1152}, "row 0");
}

std::vector<float> run_add_positions(Backend& backend, int64_t T, int64_t H, int64_t P) {
  std::vector<int32_t> taps;
  for (int64_t i = 0; i < 4 * T; ++i) {
    taps.push_back(static_cast<int32_t>((i * 7919 + 3) % P));
  }
  const DeviceTensor table(backend, DType::kF32, random_values(static_cast<size_t>(P * H), 1));
  const DeviceArray<int32_t> device_taps(backend, taps);
  const DeviceTensor weights(backend, DType::kF32, random_values(static_cast<size_t>(4 * T), 2));
  const DeviceTensor residual(backend, DType::kF32, random_values(static_cast<size_t>(T * H), 3));
  backend.add_positions({.T = T,
                         .H = H,
                         .table = table.floats(),
                         .taps = device_taps.data(),
                         .weights = weights.floats(),
                         .residual = residual.floats()});
  return residual.values();
}

TEST_P(VisionOps, AddPositions) {
  for (const int64_t H : {48, 1152, 83}) {
    expect_close(run_add_positions(*backend_, 21, H, 64), run_add_positions(*reference_, 21, H, 64),
                 1e-6, 1e-6, "residual");
  }
}

struct RopeShape {
  int64_t T;
  int32_t heads;
  int32_t head_dim;
};

// q and k as two parts of one projection.
std::vector<float> run_vision_rope(Backend& backend, const RopeShape& s) {
  const int64_t width = int64_t{s.heads} * s.head_dim;
  const int64_t stride = 3 * width;
  const DType x = backend.compute_dtype();
  const DeviceTensor qkv(backend, x, random_values(static_cast<size_t>(s.T * stride), 1));
  std::vector<int32_t> rows;
  std::vector<int32_t> columns;
  for (int32_t t = 0; t < s.T; ++t) {
    rows.push_back(t * 13 % 256);
    columns.push_back(t * 29 % 311);
  }
  std::vector<float> inv_freq;
  for (int32_t j = 0; j < s.head_dim / 4; ++j) {
    inv_freq.push_back(static_cast<float>(std::pow(10000.0, -4.0 * j / s.head_dim)));
  }
  const DeviceArray<int32_t> device_rows(backend, rows);
  const DeviceArray<int32_t> device_columns(backend, columns);
  const DeviceTensor device_freq(backend, DType::kF32, inv_freq);
  backend.vision_rope({.T = s.T,
                       .num_heads = s.heads,
                       .head_dim = s.head_dim,
                       .q = qkv.data(),
                       .k = static_cast<std::byte*>(qkv.data()) + width * dtype_size(x),
                       .stride = stride,
                       .rows = device_rows.data(),
                       .columns = device_columns.data(),
                       .inv_freq = device_freq.floats()});
  return qkv.values();
}

TEST_P(VisionOps, VisionRope) {
  for (const RopeShape& s : {RopeShape{5, 3, 16}, RopeShape{37, 16, 72}, RopeShape{9, 12, 64}}) {
    expect_close(run_vision_rope(*backend_, s), run_vision_rope(*reference_, s), tolerance_, 2e-6,
                 "qkv");
  }
}

struct AttentionCase {
  std::vector<int32_t> keys;  // of each segment
  int32_t heads;
  int32_t head_dim;
};

// Query rows [begin, end) of segment `segment` alone, or all rows of all segments.
struct QueryRange {
  int32_t segment = -1;
  int32_t begin = 0;
  int32_t end = 0;
};

std::vector<float> run_vision_attention(Backend& backend, const AttentionCase& c,
                                        const QueryRange& range = {}) {
  std::vector<int32_t> cu_keys = {0};
  std::vector<int32_t> cu_queries = {0};
  int32_t max_keys = 0;
  int32_t first_query = 0;
  for (size_t s = 0; s < c.keys.size(); ++s) {
    const bool chosen = static_cast<int32_t>(s) == range.segment;
    if (chosen) {
      first_query = cu_keys.back() + range.begin;
    }
    cu_keys.push_back(cu_keys.back() + c.keys[s]);
    const int32_t rows = range.segment < 0 ? c.keys[s] : (chosen ? range.end - range.begin : 0);
    cu_queries.push_back(cu_queries.back() + rows);
    max_keys = std::max(max_keys, c.keys[s]);
  }
  const int64_t width = int64_t{c.heads} * c.head_dim;
  const int64_t stride = 3 * width;
  const DType x = backend.compute_dtype();
  const int64_t element = dtype_size(x);
  const DeviceTensor qkv(backend, x,
                         random_values(static_cast<size_t>(cu_keys.back() * stride), 1, 1.5F));
  const auto* base = static_cast<const std::byte*>(qkv.data());
  const DeviceArray<int32_t> device_queries(backend, cu_queries);
  const DeviceArray<int32_t> device_keys(backend, cu_keys);
  const DeviceTensor out(backend, x, static_cast<size_t>(cu_queries.back() * width));
  backend.vision_attention({.num_segments = static_cast<int32_t>(c.keys.size()),
                            .num_queries = cu_queries.back(),
                            .num_keys = cu_keys.back(),
                            .max_queries = max_keys,
                            .max_keys = max_keys,
                            .cu_queries = device_queries.data(),
                            .cu_keys = device_keys.data(),
                            .num_heads = c.heads,
                            .head_dim = c.head_dim,
                            .scale = 1.0F / std::sqrt(static_cast<float>(c.head_dim)),
                            .q = base + first_query * stride * element,
                            .q_stride = stride,
                            .k = base + width * element,
                            .v = base + 2 * width * element,
                            .kv_stride = stride,
                            .out = out.data(),
                            .out_stride = width});
  return out.values();
}

TEST_P(VisionOps, VisionAttention) {
  for (const AttentionCase& c : {AttentionCase{{24}, 3, 16}, AttentionCase{{1, 77, 4, 130}, 3, 16},
                                 AttentionCase{{256, 196}, 2, 72}, AttentionCase{{1100}, 2, 64}}) {
    // Weights enter the second product rounded to X: half a unit of 2^-8 each, in both directions.
    const double absolute = x_ == DType::kF32 ? 1e-5 : 0.01;
    expect_close(run_vision_attention(*backend_, c), run_vision_attention(*reference_, c),
                 std::max(tolerance_, 1e-5), absolute, "out");
  }
}

TEST_P(VisionBits, VisionAttentionRowDependsOnItsSegmentOnly) {
  const AttentionCase all{{40, 700, 12}, 2, 72};
  const int64_t width = 2 * 72;
  const auto whole = run_vision_attention(*backend_, all);
  for (const auto& [begin, end] : {std::pair{0, 1}, std::pair{0, 700}, std::pair{95, 192},
                                   std::pair{350, 613}, std::pair{699, 700}}) {
    const auto part =
        run_vision_attention(*backend_, all, {.segment = 1, .begin = begin, .end = end});
    expect_same_bits(part,
                     {whole.begin() + (40 + begin) * width, whole.begin() + (40 + end) * width},
                     "rows " + std::to_string(begin) + " to " + std::to_string(end));
  }
}

TEST_P(VisionBits, VisionAttentionDoesNotDependOnThreads) {
  const AttentionCase c{{300, 33}, 3, 64};
  BackendCase other = GetParam();
  other.threads = 5;
  expect_same_bits(run_vision_attention(*make_case_backend(other), c),
                   run_vision_attention(*backend_, c), "out");
}

TEST_P(VisionOps, RefusesAHeadSizeThatRowsAndColumnsCannotShare) {
  EXPECT_TRUE(backend_->check_vision_shape({.num_heads = 16, .head_dim = 72}).has_value());
  EXPECT_FALSE(backend_->check_vision_shape({.num_heads = 16, .head_dim = 70}).has_value());
}

INSTANTIATE_TEST_SUITE_P(All, VisionOps, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });
INSTANTIATE_TEST_SUITE_P(All, VisionBits, testing::ValuesIn(bit_exact_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
