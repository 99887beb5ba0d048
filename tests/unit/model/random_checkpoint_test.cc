// Checkpoints of random weights: released shapes, reproducible values, files that load.
#include "model/random_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "model/random_in_memory.h"
#include "model/random_tensor.h"
#include "model/synthetic_tokenizer.h"
#include "model/vision_tensors.h"
#include "ops/reference/reference_backend.h"
#include "tensor/checkpoint.h"
#include "tensor/safetensors.h"
#include "test_checkpoint.h"

namespace deltaserve {
namespace {

using ::testing::HasSubstr;

ModelConfig config_of(std::string_view preset, const PresetOptions& options = {}) {
  const Result<json::Object> object = preset_config(preset, options);
  EXPECT_TRUE(object) << object.error().message;
  const Result<ModelConfig> config = parse_model_config(*object);
  EXPECT_TRUE(config) << preset << ": " << config.error().message;
  return *config;
}

int64_t parameters(const ModelConfig& config) {
  int64_t sum = 0;
  for (const RandomTensor& tensor : random_tensors(config)) {
    sum += tensor.num_elements();
  }
  return sum;
}

TEST(Presets, HaveTheReleasedTensorCounts) {
  EXPECT_EQ(random_tensors(config_of("qwen3.5-27b")).size(), 851U);
  EXPECT_EQ(random_tensors(config_of("qwen3.5-27b", {.with_vision = true})).size(), 851U + 333U);
  EXPECT_EQ(vision_tensor_shapes(*config_of("qwen3.5-0.8b", {.with_vision = true}).vision).size(),
            153U);
  // 18 linear layers of 14, 6 full ones of 11, embeddings and norm; the head is tied.
  EXPECT_EQ(random_tensors(config_of("qwen3.5-0.8b")).size(), 18U * 14 + 6 * 11 + 2);
  // 30 linear layers of 18, 10 full ones of 15.
  EXPECT_EQ(random_tensors(config_of("qwen3.5-35b-a3b")).size(), 30U * 18 + 10 * 15 + 3);
}

TEST(Presets, HaveAboutTheParametersOfTheirNames) {
  const std::pair<const char*, double> sizes[] = {
      {"qwen3.5-0.8b", 0.75},     {"qwen3.5-2b", 1.9},        {"qwen3.5-4b", 4.2},
      {"qwen3.5-9b", 9.0},        {"qwen3.5-27b", 27.0},      {"qwen3.6-27b", 27.0},
      {"qwen3.8-27b", 27.0},      {"qwen3.5-35b-a3b", 35.0},  {"qwen3.6-35b-a3b", 35.0},
      {"qwen3.5-122b-a10b", 122}, {"qwen3.5-397b-a17b", 397}, {"qwen3.8-2.4t-a95b", 2400},
      {"qwen3-next-80b-a3b", 80}, {"qwen3-coder-next", 80}};
  EXPECT_EQ(preset_names().size(), std::size(sizes));
  for (const auto& [name, billions] : sizes) {
    EXPECT_NEAR(static_cast<double>(parameters(config_of(name))) * 1e-9 / billions, 1.0, 0.04)
        << name;
  }
}

TEST(Presets, LayersCanBeCut) {
  const ModelConfig config = config_of("qwen3.5-35b-a3b", {.num_layers = 5});
  EXPECT_EQ(config.num_hidden_layers, 5);
  EXPECT_EQ(config.num_full_layers(), 1);
  EXPECT_THAT(preset_config("qwen3.5-2b", {.num_layers = 25}).error().message,
              HasSubstr("has 24 layers"));
  EXPECT_THAT(preset_config("qwen3-next-80b-a3b", {.with_vision = true}).error().message,
              HasSubstr("no vision tower"));
  EXPECT_THAT(preset_config("qwen9", {}).error().message, HasSubstr("qwen3.5-0.8b"));
}

TEST(RandomTensors, HaveTheirMoments) {
  const RandomTensor tensor = {"w", {1 << 18}, DType::kF32, RandomKind::kNormal, 2.0F, 0.5F};
  std::vector<float> values(1 << 18);
  fill_random(tensor, 1, 0, std::as_writable_bytes(std::span(values)));
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double variance = 0.0;
  for (const float value : values) {
    variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
  }
  EXPECT_NEAR(mean, 2.0, 0.005);
  EXPECT_NEAR(std::sqrt(variance), 0.5, 0.005);

  std::vector<float> again(1 << 18);
  fill_random(tensor, 1, 0, std::as_writable_bytes(std::span(again)));
  EXPECT_EQ(again, values);
  fill_random(tensor, 2, 0, std::as_writable_bytes(std::span(again)));
  EXPECT_NE(again, values);
  fill_random(tensor, 1, 1, std::as_writable_bytes(std::span(again)));
  EXPECT_NE(again, values);
}

TEST(RandomTensors, DecaysAreRealistic) {
  std::vector<float> a_log(64);
  std::vector<float> dt_bias(64);
  fill_random({"a", {64}, DType::kF32, RandomKind::kALog, 0, 0}, 3, 0,
              std::as_writable_bytes(std::span(a_log)));
  fill_random({"d", {64}, DType::kF32, RandomKind::kDtBias, 0, 0}, 3, 0,
              std::as_writable_bytes(std::span(dt_bias)));
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_GE(a_log[i], 0.0F);
    EXPECT_LE(a_log[i], std::log(16.0F));
    const float step = std::log1p(std::exp(dt_bias[i]));
    EXPECT_GE(step, 0.00099F);
    EXPECT_LE(step, 0.101F);
  }
}

TEST(RandomCheckpoint, WrittenShardsLoad) {
  const test::TempDirectory directory("random_checkpoint");
  const json::Object config = test::dense_config();
  int64_t last_done = 0;
  const auto summary = write_random_weights(
      config, {.directory = directory.path(), .seed = 5, .max_shard_bytes = 20000, .threads = 3},
      [&](int64_t done, int64_t total) {
        EXPECT_LE(done, total);
        last_done = done;
      });
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_GT(summary->num_files, 2);
  EXPECT_EQ(last_done, summary->num_bytes);
  const auto checkpoint = Checkpoint::open(directory.path());
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ((*checkpoint)->total_bytes(), summary->num_bytes);
  const auto backend = make_reference_backend(DType::kF32);
  const auto model = load_model(**checkpoint, *backend);
  EXPECT_TRUE(model) << model.error().message;

  EXPECT_THAT(write_random_weights(config, {.directory = directory.path()}).error().message,
              HasSubstr("already holds config.json"));
}

TEST(RandomCheckpoint, InMemoryLoadsAndHasTheTensorsOfAFile) {
  const auto config = preset_config("qwen3.5-0.8b", {.num_layers = 4});
  ASSERT_TRUE(config);
  const auto parsed = parse_model_config(*config);
  ASSERT_TRUE(parsed);
  const auto checkpoint = make_random_checkpoint(*config, 3, 2);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const auto tensors = random_tensors(*parsed);
  EXPECT_EQ((*checkpoint)->names().size(), tensors.size());
  for (const RandomTensor& tensor : tensors) {
    const TensorView* view = (*checkpoint)->find(tensor.name);
    ASSERT_NE(view, nullptr) << tensor.name;
    EXPECT_EQ(view->shape, tensor.shape) << tensor.name;
    const TensorView first = {.dtype = view->dtype,
                              .shape = {std::min<int64_t>(tensor.num_elements(), 4096)},
                              .data = view->data};
    for (const float value : to_float_vector(first)) {
      ASSERT_TRUE(std::isfinite(value)) << tensor.name;
    }
    drop_mapped_pages(*view);
    EXPECT_EQ(std::memcmp(view->data, first.data, 16), 0) << "still there";
  }
}

TEST(RandomCheckpoint, ThreadsDoNotChangeTheWeights) {
  const test::TempDirectory one("random_one");
  const test::TempDirectory many("random_many");
  const json::Object config = test::moe_config();
  ASSERT_TRUE(write_random_weights(config, {.directory = one.path(), .threads = 1}));
  ASSERT_TRUE(write_random_weights(config, {.directory = many.path(), .threads = 4}));
  const auto first = Checkpoint::open(one.path());
  const auto second = Checkpoint::open(many.path());
  ASSERT_TRUE(first && second);
  for (const std::string& name : (*first)->names()) {
    const TensorView& a = *(*first)->find(name);
    const TensorView& b = *(*second)->find(name);
    EXPECT_EQ(to_float_vector(a), to_float_vector(b)) << name;
  }
}

}  // namespace
}  // namespace deltaserve
