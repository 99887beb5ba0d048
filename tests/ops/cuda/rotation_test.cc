// Rotation and KV write of the CUDA backend in one launch, with the bits of both.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "conformance.h"

namespace deltaserve {
namespace {

struct HeadShape {
  int32_t heads;
  int32_t kv_heads;
  int32_t head_dim;
  int32_t rotary_dim;
};

class RotationTest : public testing::TestWithParam<BackendCase> {
 protected:
  std::unique_ptr<Backend> backend_ = make_case_backend(GetParam());
};

// q with its gates, and the bytes of the cache as floats, after rotation and KV write of one row of
// q | k | v a token. Only what the cache did not hold before was written.
std::pair<std::vector<float>, std::vector<float>> rotate_and_write(Backend& backend,
                                                                   const HeadShape& shape,
                                                                   bool together) {
  const DType x = backend.compute_dtype();
  const auto sequences = make_sequences({{37, 1}, {0, 19}, {131071, 2}}, 3);
  const DeviceBatch batch(backend, sequences);
  const auto tokens = static_cast<size_t>(batch.view()->num_tokens);
  const int64_t q_width = int64_t{2} * shape.heads * shape.head_dim;
  const int64_t kv_width = int64_t{shape.kv_heads} * shape.head_dim;
  const int64_t stride = q_width + 2 * kv_width;
  DeviceTensor q(backend, x, random_values(tokens * static_cast<size_t>(stride), 1));
  const auto at = [&](int64_t offset) {
    return static_cast<std::byte*>(q.data()) + offset * dtype_size(x);
  };
  const CacheShape cache_shape{.num_kv_heads = shape.kv_heads, .head_dim = shape.head_dim};
  const auto cache_size =
      static_cast<size_t>(backend.kv_block_bytes(cache_shape) * count_blocks(sequences)) /
      static_cast<size_t>(dtype_size(x));
  DeviceTensor cache(backend, x, std::vector<float>(cache_size, -77.0F));
  const auto dims = static_cast<size_t>(shape.head_dim);
  const DeviceTensor q_weight(backend, DType::kF32, random_values(dims, 3, 0.3F));
  const DeviceTensor k_weight(backend, DType::kF32, random_values(dims, 4, 0.3F));
  std::vector<float> inv_freq;
  for (int32_t j = 0; j < shape.rotary_dim / 2; ++j) {
    inv_freq.push_back(
        std::pow(1e7F, -2.0F * static_cast<float>(j) / static_cast<float>(shape.rotary_dim)));
  }
  const DeviceTensor device_inv_freq(backend, DType::kF32, inv_freq);
  const DeviceArray<uint8_t> axes(backend, std::vector<uint8_t>(inv_freq.size(), 0));
  const QkNormRopeArgs rotation = {.batch = batch.view(),
                                   .num_heads = shape.heads,
                                   .num_kv_heads = shape.kv_heads,
                                   .head_dim = shape.head_dim,
                                   .rotary_dim = shape.rotary_dim,
                                   .q = q.data(),
                                   .q_stride = stride,
                                   .q_head_stride = int64_t{2} * shape.head_dim,
                                   .k = at(q_width),
                                   .k_stride = stride,
                                   .q_weight = q_weight.floats(),
                                   .k_weight = k_weight.floats(),
                                   .inv_freq = device_inv_freq.floats(),
                                   .mrope_axis = axes.data()};
  const WriteKvArgs writing = {.batch = batch.view(),
                               .num_kv_heads = shape.kv_heads,
                               .head_dim = shape.head_dim,
                               .k = at(q_width),
                               .v = at(q_width + kv_width),
                               .kv_stride = stride,
                               .kv_cache = cache.data()};
  if (together) {
    EXPECT_TRUE(backend.qk_norm_rope_write_kv(rotation, writing));
  } else {
    backend.qk_norm_rope(rotation);
    backend.write_kv(writing);
  }
  std::vector<float> queries;
  const std::vector<float> rows = q.values();
  for (size_t t = 0; t < tokens; ++t) {
    const auto row = rows.begin() + static_cast<std::ptrdiff_t>(t) * stride;
    queries.insert(queries.end(), row, row + q_width);
  }
  return {queries, cache.values()};
}

TEST_P(RotationTest, RotationWithKvWriteHasTheBitsOfBoth) {
  for (const HeadShape& shape : {HeadShape{4, 2, 32, 8}, HeadShape{16, 2, 256, 64},
                                 HeadShape{24, 4, 256, 64}, HeadShape{6, 1, 128, 128}}) {
    const auto [q, cache] = rotate_and_write(*backend_, shape, true);
    const auto [expected_q, expected_cache] = rotate_and_write(*backend_, shape, false);
    expect_same_bits(q, expected_q, "q and gates");
    expect_same_bits(cache, expected_cache, "cache");
  }
}

INSTANTIATE_TEST_SUITE_P(All, RotationTest, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
