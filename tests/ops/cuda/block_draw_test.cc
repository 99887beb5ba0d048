// The draw by single blocks, as devices without clusters have it, called directly on any device:
// the tokens and log-probabilities of the reference for every way to select.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/cuda/sample_kernels.h"
#include "conformance.h"
#include "ops/reference/reference_backend.h"
#include "ops/sampling_math.h"

namespace deltaserve {
namespace {

constexpr int32_t kMostLogprobs = 20;

class BlockDraw : public testing::Test {
 protected:
  // Row b of the logits [rows, V] is drawn with row b of the settings.
  void expect_the_reference(const std::vector<float>& values, int64_t V,
                            const std::vector<SamplingRow>& rows) {
    const DeviceTensor logits(*backend_, DType::kF32, values);
    const DeviceArray<TopLogprob> top(*backend_,
                                      std::vector<TopLogprob>(rows.size() * kMostLogprobs));
    std::vector<CudaSamplingRow> settings;
    for (size_t b = 0; b < rows.size(); ++b) {
      const SamplingRow& row = rows[b];
      settings.push_back({.logits = logits.floats() + static_cast<int64_t>(b) * V,
                          .temperature = row.temperature,
                          .top_p = row.top_p,
                          .min_p = row.min_p,
                          .uniform = uniform_draw(row.seed, row.position),
                          .top_k = row.top_k,
                          .num_logprobs = row.num_logprobs,
                          .top = top.data() + b * kMostLogprobs});
    }
    const DeviceArray<CudaSamplingRow> device_rows(*backend_, settings);
    const DeviceArray<CudaSampledRow> drawn(*backend_, std::vector<CudaSampledRow>(rows.size()));
    const auto count = static_cast<int64_t>(rows.size());
    check_cuda(cudaDeviceSynchronize());  // uploads run on the backend's stream
    launch_sample_rows_by_blocks(context_, device_rows.data(), drawn.data(), count, V);
    check_cuda(cudaStreamSynchronize(context_.stream));
    compare(drawn.values(), top.values(), rows, draw_by_reference(values, V, rows));
  }

 private:
  static std::vector<SampledToken> draw_by_reference(const std::vector<float>& values, int64_t V,
                                                     const std::vector<SamplingRow>& rows) {
    std::vector<SampledToken> out(rows.size());
    make_reference_backend(DType::kF32)
        ->sample({.B = static_cast<int64_t>(rows.size()),
                  .V = V,
                  .logits = values.data(),
                  .logits_stride = V,
                  .rows = rows.data(),
                  .out = out.data()});
    return out;
  }

  static void compare(const std::vector<CudaSampledRow>& drawn, const std::vector<TopLogprob>& top,
                      const std::vector<SamplingRow>& rows,
                      const std::vector<SampledToken>& expected) {
    for (size_t b = 0; b < rows.size(); ++b) {
      EXPECT_EQ(drawn[b].token, expected[b].token) << "row " << b;
      EXPECT_EQ(drawn[b].finite != 0, expected[b].finite) << "row " << b;
      EXPECT_NEAR(drawn[b].logprob, expected[b].logprob, 2e-6) << "row " << b;
      for (size_t i = 0; i < expected[b].top.size(); ++i) {
        EXPECT_EQ(top[b * kMostLogprobs + i].token, expected[b].top[i].token) << "row " << b;
        EXPECT_NEAR(top[b * kMostLogprobs + i].logprob, expected[b].top[i].logprob, 2e-6);
      }
    }
  }

  std::unique_ptr<Backend> backend_ = make_case_backend({.x_dtype = DType::kF32});
  CudaContext context_{DType::kF32, 0};
};

// Greedy, a few of a small top_k, all; cuts by top_k, top_p and min_p; with ties and without.
std::vector<SamplingRow> ways_to_select(int32_t V) {
  std::vector<SamplingRow> rows;
  for (const float temperature : {0.0F, 0.7F}) {
    for (const int32_t top_k : {0, 1, 9, 600, V}) {
      for (const float top_p : {0.3F, 0.95F, 1.0F}) {
        rows.push_back({.temperature = temperature, .top_p = top_p, .top_k = top_k});
      }
    }
  }
  rows.push_back({.min_p = 0.05F});
  for (size_t b = 0; b < rows.size(); ++b) {
    rows[b].seed = b;
    rows[b].num_logprobs = b % 3 == 0 ? static_cast<int32_t>(b) % (kMostLogprobs + 1) : -1;
  }
  return rows;
}

TEST_F(BlockDraw, EveryWayToSelectDrawsTheTokenOfTheReference) {
  for (const int32_t V : {37, 5003}) {
    const std::vector<SamplingRow> rows = ways_to_select(V);
    std::vector<float> values =
        random_values(rows.size() * static_cast<size_t>(V), static_cast<uint32_t>(V), 3.0F);
    expect_the_reference(values, V, rows);
    for (float& value : values) value = std::round(value);  // ties everywhere
    expect_the_reference(values, V, rows);
  }
}

TEST_F(BlockDraw, ARowThatIsNotFiniteDrawsNothing) {
  constexpr int64_t kV = 1500;
  std::vector<float> values = random_values(3 * kV, 5);
  values[kV + 1400] = std::numeric_limits<float>::quiet_NaN();
  expect_the_reference(values, kV, {{.num_logprobs = 2}, {.num_logprobs = 2}, {.top_k = 5}});
}

}  // namespace
}  // namespace deltaserve
