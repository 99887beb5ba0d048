// Loading: every tensor is accounted for, and what is missing, misshaped or foreign is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "model/model.h"
#include "ops/reference/reference_backend.h"
#include "tensor/checkpoint.h"
#include "test_checkpoint.h"

namespace deltaserve {
namespace {

using ::testing::HasSubstr;

struct Loaded {
  std::unique_ptr<Backend> backend = make_reference_backend(DType::kF32);
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Model> model;
  std::string error;
};

class LoadTest : public ::testing::Test {
 protected:
  Loaded load(const json::Object& config, const test::OwnedTensors& tensors,
              const ProgressCallback& on_progress = {}) {
    test::write_checkpoint(directory_.path(), config, tensors);
    Loaded loaded;
    auto checkpoint = Checkpoint::open(directory_.path());
    if (!checkpoint) {
      loaded.error = checkpoint.error().message;
      return loaded;
    }
    loaded.checkpoint = std::move(*checkpoint);
    auto model = load_model(*loaded.checkpoint, *loaded.backend, on_progress);
    if (model) {
      loaded.model = std::move(*model);
    } else {
      loaded.error = model.error().message;
    }
    return loaded;
  }

  test::TempDirectory directory_{"load"};
};

constexpr const char* kLayer = "model.language_model.layers.1.";

// One sequence of tokens through a fresh model; the logits of the last.
std::vector<float> last_logits(Model& model, const std::vector<int32_t>& ids) {
  const auto T = static_cast<int32_t>(ids.size());
  const int32_t blocks = (T + kBlockSize - 1) / kBlockSize;
  EXPECT_TRUE(model.allocate({.max_tokens = T, .max_seqs = 1, .max_model_len = T}, blocks, 1));
  Batch batch;
  batch.input_ids = ids;
  for (int32_t axis = 0; axis < 3; ++axis) {
    for (int32_t t = 0; t < T; ++t) {
      batch.positions.push_back(t);
    }
  }
  for (int32_t t = 0; t < T; ++t) {
    batch.slot_mapping.push_back(t);
  }
  for (int32_t b = 0; b < blocks; ++b) {
    batch.block_tables.push_back(b);
  }
  batch.cu_seqlens = {0, T};
  batch.context_lens = {0};
  batch.state_slots = {0};
  batch.recurrent = {0};
  batch.logits_rows = {T - 1};
  batch.max_blocks_per_seq = blocks;
  model.forward(batch);
  std::vector<float> logits(static_cast<size_t>(model.config().vocab_size));
  model.backend().copy_to_host(logits.data(), model.logits(), logits.size() * sizeof(float));
  return logits;
}

TEST_F(LoadTest, LoadsEveryForm) {
  for (const json::Object& config :
       {test::dense_config(), test::moe_config(), test::qwen3_next_config()}) {
    int64_t last_done = 0;
    int64_t last_total = 0;
    const Loaded loaded =
        load(config, test::random_weights(config), [&](int64_t done, int64_t total) {
          EXPECT_GE(done, last_done);
          last_done = done;
          last_total = total;
        });
    ASSERT_NE(loaded.model, nullptr) << loaded.error;
    EXPECT_EQ(last_done, last_total);
    EXPECT_GT(loaded.model->memory().weight_bytes, 0);
    // One full layer: K and V of 2 heads of 16 in float32.
    EXPECT_EQ(loaded.model->memory().kv_block_bytes, 2 * kBlockSize * 2 * 16 * 4);
    // Three linear layers: 3 inputs of 128 channels, and 4 states of 16 x 16.
    EXPECT_EQ(loaded.model->memory().state_slot_bytes, 3 * (3 * 128 + 4 * 16 * 16) * 4);
    const std::vector<float> logits = last_logits(*loaded.model, {1, 2, 3, 95, 0});
    for (const float value : logits) {
      EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST_F(LoadTest, SplitAndFusedExpertsAreTheSame) {
  const json::Object config = test::moe_config();
  test::OwnedTensors tensors = test::random_weights(config);
  const Loaded fused = load(config, tensors);
  ASSERT_NE(fused.model, nullptr) << fused.error;
  const std::vector<float> expected = last_logits(*fused.model, {5, 6, 7});

  for (int layer = 0; layer < 4; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.experts.";
    const test::OwnedTensor gate_up = tensors.at(prefix + "gate_up_proj");
    const test::OwnedTensor down = tensors.at(prefix + "down_proj");
    tensors.erase(prefix + "gate_up_proj");
    tensors.erase(prefix + "down_proj");
    const size_t matrix = 16 * 32 * 2;  // bytes of [16, 32] and of [32, 16]
    for (size_t e = 0; e < 4; ++e) {
      const auto part = [&](const test::OwnedTensor& stack, size_t index,
                            std::vector<int64_t> shape) {
        const auto begin = stack.bytes.begin() + static_cast<std::ptrdiff_t>(index * matrix);
        return test::OwnedTensor{
            stack.dtype, std::move(shape), {begin, begin + static_cast<std::ptrdiff_t>(matrix)}};
      };
      const std::string expert = prefix + std::to_string(e) + ".";
      tensors[expert + "gate_proj.weight"] = part(gate_up, 2 * e, {16, 32});
      tensors[expert + "up_proj.weight"] = part(gate_up, 2 * e + 1, {16, 32});
      tensors[expert + "down_proj.weight"] = part(down, e, {32, 16});
    }
  }
  const Loaded split = load(config, tensors);
  ASSERT_NE(split.model, nullptr) << split.error;
  EXPECT_EQ(last_logits(*split.model, {5, 6, 7}), expected);
}

// The grouped rows of Qwen3-Next, moved by hand to the flat order, are the other layout's model.
TEST_F(LoadTest, GroupedProjectionsAreUngrouped) {
  const json::Object next = test::qwen3_next_config();
  test::OwnedTensors tensors = test::random_weights(next);
  const Loaded grouped = load(next, tensors);
  ASSERT_NE(grouped.model, nullptr) << grouped.error;
  const std::vector<float> expected = last_logits(*grouped.model, {9, 8, 7, 6});

  const size_t row = 32 * 2;  // bytes
  for (int layer = 0; layer < 3; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".linear_attn.";
    const test::OwnedTensor qkvz = tensors.at(prefix + "in_proj_qkvz.weight");
    const test::OwnedTensor ba = tensors.at(prefix + "in_proj_ba.weight");
    tensors.erase(prefix + "in_proj_qkvz.weight");
    tensors.erase(prefix + "in_proj_ba.weight");
    const auto add = [&](const std::string& name, const test::OwnedTensor& source, size_t first,
                         size_t count) {
      test::OwnedTensor& target = tensors[prefix + name];
      target.dtype = source.dtype;
      target.bytes.insert(
          target.bytes.end(), source.bytes.begin() + static_cast<std::ptrdiff_t>(first * row),
          source.bytes.begin() + static_cast<std::ptrdiff_t>((first + count) * row));
      target.shape = {static_cast<int64_t>(target.bytes.size() / row), 32};
    };
    // Per key head: 16 q, 16 k, 32 v, 32 z; and 2 b, 2 a.
    for (const auto& [begin, count] : {std::pair<size_t, size_t>{0, 16}, {16, 16}, {32, 32}}) {
      for (size_t g = 0; g < 2; ++g) {
        add("in_proj_qkv.weight", qkvz, g * 96 + begin, count);
      }
    }
    for (size_t g = 0; g < 2; ++g) {
      add("in_proj_z.weight", qkvz, g * 96 + 64, 32);
      add("in_proj_b.weight", ba, g * 4, 2);
      add("in_proj_a.weight", ba, g * 4 + 2, 2);
    }
  }
  json::Object flat = next;
  flat["model_type"] = "qwen3_5_moe_text";
  const Loaded ungrouped = load(flat, tensors);
  ASSERT_NE(ungrouped.model, nullptr) << ungrouped.error;
  EXPECT_EQ(last_logits(*ungrouped.model, {9, 8, 7, 6}), expected);
}

TEST_F(LoadTest, TiedEmbeddingsNeedNoHead) {
  json::Object config = test::dense_config();
  test::OwnedTensors tensors = test::random_weights(config);
  tensors["lm_head.weight"] = tensors.at("model.language_model.embed_tokens.weight");
  const Loaded untied = load(config, tensors);
  ASSERT_NE(untied.model, nullptr) << untied.error;
  const std::vector<float> expected = last_logits(*untied.model, {1, 2});

  config["tie_word_embeddings"] = true;
  const Loaded with_head = load(config, tensors);
  ASSERT_NE(with_head.model, nullptr) << with_head.error;
  EXPECT_EQ(last_logits(*with_head.model, {1, 2}), expected);

  test::OwnedTensors float_head = tensors;
  test::OwnedTensor& head = float_head.at("lm_head.weight");
  const std::vector<float> values =
      to_float_vector({.dtype = head.dtype, .shape = head.shape, .data = head.bytes.data()});
  head.dtype = DType::kF32;
  head.bytes.resize(values.size() * sizeof(float));
  std::memcpy(head.bytes.data(), values.data(), head.bytes.size());
  const Loaded with_float_head = load(config, float_head);
  ASSERT_NE(with_float_head.model, nullptr) << with_float_head.error;
  EXPECT_EQ(last_logits(*with_float_head.model, {1, 2}), expected);
  head.bytes[3] ^= std::byte{0x40};
  EXPECT_THAT(load(config, float_head).error, HasSubstr("tie_word_embeddings"));

  tensors.erase("lm_head.weight");
  const Loaded tied = load(config, tensors);
  ASSERT_NE(tied.model, nullptr) << tied.error;
  EXPECT_EQ(last_logits(*tied.model, {1, 2}), expected);

  tensors["lm_head.weight"] = tensors.at("model.language_model.embed_tokens.weight");
  tensors["lm_head.weight"].bytes[0] ^= std::byte{1};
  EXPECT_THAT(load(config, tensors).error, HasSubstr("tie_word_embeddings"));
}

TEST_F(LoadTest, MissingTensorsAreNamed) {
  const json::Object config = test::dense_config();
  const test::OwnedTensors tensors = test::random_weights(config);
  for (const auto& [name, tensor] : tensors) {
    test::OwnedTensors partial = tensors;
    partial.erase(name);
    EXPECT_THAT(load(config, partial).error, HasSubstr("\"" + name + "\"")) << name;
  }
}

TEST_F(LoadTest, MisshapedTensorsAreNamed) {
  const json::Object config = test::dense_config();
  const test::OwnedTensors tensors = test::random_weights(config);
  for (const std::string& name : {std::string(kLayer) + "linear_attn.in_proj_qkv.weight",
                                  std::string(kLayer) + "linear_attn.conv1d.weight",
                                  std::string("model.visual.blocks.0.attn.qkv.bias")}) {
    test::OwnedTensors spoilt = tensors;
    spoilt.at(name).shape.push_back(1);
    EXPECT_THAT(load(config, spoilt).error, HasSubstr("tensor \"" + name + "\" is bfloat16"));
  }
  test::OwnedTensors integers = tensors;
  integers.at("lm_head.weight").dtype = DType::kI16;
  EXPECT_THAT(load(config, integers).error, HasSubstr("\"lm_head.weight\" is int16"));
}

TEST_F(LoadTest, ForeignTensorsAreNamed) {
  const json::Object config = test::dense_config();
  test::OwnedTensors tensors = test::random_weights(config);
  tensors["mtp.fc.weight"] = tensors.at("lm_head.weight");
  EXPECT_EQ(load(config, tensors).error, "");
  tensors["model.language_model.layers.4.input_layernorm.weight"] =
      tensors.at("model.language_model.norm.weight");
  EXPECT_THAT(load(config, tensors).error, HasSubstr("layers.4.input_layernorm.weight"));
}

// A tower that config.json does not describe is left alone; one that it describes must be whole.
TEST_F(LoadTest, VisionTensorsWithoutAConfigAreLeftAlone) {
  const json::Object config = test::dense_config();
  const test::OwnedTensors tensors = test::random_weights(config);
  const Loaded whole = load(config, tensors);
  ASSERT_NE(whole.model, nullptr) << whole.error;
  const std::vector<float> expected = last_logits(*whole.model, {1, 2, 3});

  json::Object no_vision = config;
  for (const bool is_null : {false, true}) {
    if (is_null) {
      no_vision["vision_config"] = nullptr;
    } else {
      no_vision.erase("vision_config");
    }
    int64_t left = -1;
    const Loaded text =
        load(no_vision, tensors, [&](int64_t done, int64_t total) { left = total - done; });
    ASSERT_NE(text.model, nullptr) << text.error;
    EXPECT_EQ(left, 0);
    EXPECT_EQ(text.model->vision(), nullptr);
    EXPECT_EQ(last_logits(*text.model, {1, 2, 3}), expected);
  }
}

// The text part of a vision-language checkpoint, taken out with or without its names and tower.
TEST_F(LoadTest, TextFormsMayKeepTheNamesOfTheWrapper) {
  const json::Object config = test::dense_config();
  const test::OwnedTensors tensors = test::random_weights(config);
  const Loaded whole = load(config, tensors);
  ASSERT_NE(whole.model, nullptr) << whole.error;
  const std::vector<float> expected = last_logits(*whole.model, {4, 5, 6});

  json::Object flat = config.at("text_config").as_object();
  flat["model_type"] = "qwen3_5_text";
  const Loaded same_names = load(flat, tensors);
  ASSERT_NE(same_names.model, nullptr) << same_names.error;
  EXPECT_EQ(last_logits(*same_names.model, {4, 5, 6}), expected);

  test::OwnedTensors renamed;
  for (const auto& [name, tensor] : tensors) {
    constexpr std::string_view kPrefix = "model.language_model.";
    renamed[name.starts_with(kPrefix) ? "model." + name.substr(kPrefix.size()) : name] = tensor;
  }
  const Loaded own_names = load(flat, renamed);
  ASSERT_NE(own_names.model, nullptr) << own_names.error;
  EXPECT_EQ(last_logits(*own_names.model, {4, 5, 6}), expected);

  renamed["model.language_model.norm.weight"] = renamed.at("model.norm.weight");
  EXPECT_THAT(load(flat, renamed).error, HasSubstr("\"model.language_model.norm.weight\""));
}

TEST_F(LoadTest, HalfAndFloatWeightsLoad) {
  const json::Object config = test::dense_config();
  test::OwnedTensors tensors = test::random_weights(config);
  const Loaded bf16 = load(config, tensors);
  ASSERT_NE(bf16.model, nullptr) << bf16.error;
  const std::vector<float> expected = last_logits(*bf16.model, {3, 1, 4});
  for (auto& [name, tensor] : tensors) {
    const std::vector<float> values = to_float_vector(
        {.dtype = tensor.dtype, .shape = tensor.shape, .data = tensor.bytes.data()});
    tensor.dtype = DType::kF32;
    tensor.bytes.resize(values.size() * sizeof(float));
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  }
  const Loaded wide = load(config, tensors);
  ASSERT_NE(wide.model, nullptr) << wide.error;
  EXPECT_EQ(last_logits(*wide.model, {3, 1, 4}), expected);
}

}  // namespace
}  // namespace deltaserve
