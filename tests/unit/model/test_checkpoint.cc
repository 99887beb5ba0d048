// Small checkpoints for tests.
#include "test_checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "model/config.h"
#include "model/random_tensor.h"
#include "tensor/safetensors_writer.h"

namespace deltaserve::test {

namespace {

json::Object text_config() {
  return json::parse(R"({
    "vocab_size": 96, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
    "linear_value_head_dim": 16, "max_position_embeddings": 1024,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000000.0}})")
      ->as_object();
}

json::Object with_experts(json::Object text) {
  text["num_experts"] = 4;
  text["num_experts_per_tok"] = 2;
  text["moe_intermediate_size"] = 16;
  text["shared_expert_intermediate_size"] = 24;
  return text;
}

}  // namespace

TempDirectory::TempDirectory(const std::string& name)
    : path_(std::filesystem::path(::testing::TempDir()) /
            (name + "_" + std::to_string(::getpid()))) {
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

json::Object dense_config() {
  json::Object outer;
  outer["model_type"] = "qwen3_5";
  outer["text_config"] = text_config();
  outer["vision_config"] = json::parse(R"({"depth": 1, "hidden_size": 16, "intermediate_size": 24,
    "num_heads": 2, "num_position_embeddings": 16, "out_hidden_size": 32})")
                               .value();
  return outer;
}

json::Object moe_config() {
  json::Object config = with_experts(text_config());
  config["model_type"] = "qwen3_5_moe_text";
  return config;
}

json::Object qwen3_next_config() {
  json::Object config = with_experts(text_config());
  config["model_type"] = "qwen3_next";
  return config;
}

OwnedTensors random_weights(const json::Object& config) {
  OwnedTensors tensors;
  const Result<ModelConfig> parsed = parse_model_config(config);
  EXPECT_TRUE(parsed) << parsed.error().message;
  for (const RandomTensor& tensor : random_tensors(*parsed)) {
    OwnedTensor& owned = tensors[tensor.name];
    owned.dtype = tensor.dtype;
    owned.shape = tensor.shape;
    owned.bytes.resize(static_cast<size_t>(tensor.num_elements() * dtype_size(tensor.dtype)));
    fill_random(tensor, 7, 0, owned.bytes);
  }
  return tensors;
}

void write_checkpoint(const std::filesystem::path& directory, const json::Object& config,
                      const OwnedTensors& tensors) {
  std::ofstream(directory / "config.json") << json::dumps(config);
  std::vector<std::pair<std::string, TensorView>> views;
  for (const auto& [name, tensor] : tensors) {
    views.emplace_back(
        name,
        TensorView{.dtype = tensor.dtype, .shape = tensor.shape, .data = tensor.bytes.data()});
  }
  const Result<void> wrote = write_safetensors(directory / "model.safetensors", views);
  ASSERT_TRUE(wrote) << wrote.error().message;
}

}  // namespace deltaserve::test
