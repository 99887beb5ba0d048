// The quantization_config block, the rule by names, and quantised copies of checkpoints: they load
// to the same bits as the checkpoint quantised at load, and damaged ones are refused by name.
#include "model/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "model/config.h"
#include "model/divergence.h"
#include "model/model.h"
#include "model/quantize_checkpoint.h"
#include "ops/reference/reference_backend.h"
#include "tensor/checkpoint.h"
#include "test_checkpoint.h"

namespace deltaserve {
namespace {

using test::OwnedTensors;
using test::TempDirectory;
using ::testing::HasSubstr;

const QuantizationConfig kInt8 = {.bits = 8, .head_bits = 8};
const QuantizationConfig kInt4 = {.bits = 4, .head_bits = 8};
const QuantizationConfig kWithoutHead = {.bits = 8, .head_bits = 0};

TEST(QuantizationNames, ChoosesProjectionsAndKeepsTheRest) {
  for (const char* name :
       {"model.layers.0.self_attn.q_proj.weight", "model.layers.12.linear_attn.in_proj_qkvz.weight",
        "model.language_model.layers.3.linear_attn.in_proj_z.weight",
        "model.language_model.layers.3.linear_attn.out_proj.weight",
        "model.layers.1.mlp.down_proj.weight", "model.layers.1.mlp.shared_expert.up_proj.weight",
        "model.layers.1.mlp.experts.gate_up_proj", "model.layers.1.mlp.experts.down_proj",
        "model.layers.1.mlp.experts.511.gate_proj.weight"}) {
    EXPECT_EQ(quantized_bits(name, kInt4), 4) << name;
  }
  for (const char* name :
       {"model.embed_tokens.weight", "model.language_model.norm.weight",
        "model.layers.0.input_layernorm.weight", "model.layers.0.self_attn.q_norm.weight",
        "model.layers.0.linear_attn.in_proj_a.weight",
        "model.layers.0.linear_attn.in_proj_ba.weight", "model.layers.0.linear_attn.conv1d.weight",
        "model.layers.0.linear_attn.A_log", "model.layers.0.mlp.gate.weight",
        "model.layers.0.mlp.shared_expert_gate.weight", "model.visual.blocks.0.attn.qkv.weight",
        "mtp.layers.0.mlp.down_proj.weight", "model.layers.x.mlp.down_proj.weight",
        "model.layers.mlp.down_proj.weight", "model.layers.", ""}) {
    EXPECT_EQ(quantized_bits(name, kInt4), 0) << name;
  }
  EXPECT_EQ(quantized_bits("lm_head.weight", kInt4), 8);
  EXPECT_EQ(quantized_bits("lm_head.weight", kInt8), 8);
  EXPECT_EQ(quantized_bits("lm_head.weight", kWithoutHead), 0);
  EXPECT_EQ(codes_name("a.b.weight"), "a.b.qweight");
  EXPECT_EQ(scales_name("experts.down_proj"), "experts.down_proj.scales");
}

std::string config_error(const json::Object& block) {
  json::Object config = test::moe_config();
  config["quantization_config"] = block;
  const auto parsed = parse_model_config(config);
  return parsed ? "accepted" : parsed.error().message;
}

TEST(QuantizationConfigBlock, ReadsWhatItWrites) {
  for (const QuantizationConfig& quantization : {kInt8, kInt4, kWithoutHead}) {
    json::Object config = test::moe_config();
    config["quantization_config"] = quantization_json(quantization);
    const auto parsed = parse_model_config(config);
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_TRUE(parsed->quantization.has_value());
    EXPECT_EQ(parsed->quantization->bits, quantization.bits);
    EXPECT_EQ(parsed->quantization->head_bits, quantization.head_bits);
  }
}

TEST(QuantizationConfigBlock, RefusesWhatItDoesNotKnow) {
  const auto with = [](const char* key, json::Value value) {
    json::Object block = quantization_json(kInt4);
    block[key] = std::move(value);
    return config_error(block);
  };
  EXPECT_THAT(with("bits", 5), HasSubstr("quantization_config.bits is 5"));
  EXPECT_THAT(with("bits", 16), HasSubstr("outside 4 to 8"));
  EXPECT_THAT(with("bits", "4"), HasSubstr("must be an integer"));
  EXPECT_THAT(with("bits", nullptr), HasSubstr("is missing"));
  EXPECT_THAT(with("group_size", 128), HasSubstr("4 bits come in groups of"));
  EXPECT_THAT(with("head_bits", 4), HasSubstr("0 and 8 are supported"));
  EXPECT_THAT(with("format_version", 2), HasSubstr("this version reads 1"));
  EXPECT_THAT(with("quant_method", "awq"), HasSubstr("\"awq\""));
}

// Loads a directory with the reference backend; the backend outlives the model.
struct Loaded {
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Backend> backend = make_reference_backend(DType::kF32);
  std::unique_ptr<Model> model;
  std::string error;

  explicit Loaded(const std::filesystem::path& directory, const std::string& quantization = "") {
    auto opened = Checkpoint::open(directory);
    if (!opened) {
      error = opened.error().message;
      return;
    }
    checkpoint = std::move(*opened);
    auto loaded = load_model(*checkpoint, *backend, {}, {.quantization = quantization});
    if (!loaded) {
      error = loaded.error().message;
      return;
    }
    model = std::move(*loaded);
  }
};

std::vector<int32_t> some_tokens() {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 80; ++i) {
    tokens.push_back((i * 37 + 11) % 96);
  }
  return tokens;
}

Divergence compare(Loaded& base, Loaded& other) {
  EXPECT_EQ(base.error + other.error, "");
  const auto divergence = compare_models(*base.model, *other.model, some_tokens(), 40);
  EXPECT_TRUE(divergence) << divergence.error().message;
  return *divergence;
}

json::Object with_tied_head(json::Object config) {
  config["tie_word_embeddings"] = true;
  return config;
}

class QuantizedCheckpoint : public ::testing::TestWithParam<int32_t> {
 protected:
  QuantizationConfig quantization() const { return GetParam() == 4 ? kInt4 : kInt8; }
  std::string name() const { return std::string(quantization_name(quantization())); }
};

TEST_P(QuantizedCheckpoint, LoadsToWhatQuantisingAtLoadGives) {
  int index = 0;
  for (const json::Object& config :
       {test::dense_config(), test::moe_config(), test::qwen3_next_config(),
        with_tied_head(test::dense_config()), with_tied_head(test::moe_config())}) {
    const TempDirectory directory("quantized_" + name() + std::to_string(index++));
    const auto source_path = directory.path() / "source";
    const auto copy_path = directory.path() / "copy";
    std::filesystem::create_directories(source_path);
    test::write_checkpoint(source_path, config, test::random_weights(config));
    std::ofstream(source_path / "tokenizer.json") << "{}";
    const auto source = Checkpoint::open(source_path);
    ASSERT_TRUE(source);
    // Small shards, so that an index is written and read as well.
    const auto summary = quantize_checkpoint(**source, {.directory = copy_path,
                                                        .quantization = quantization(),
                                                        .max_shard_bytes = 4000,
                                                        .threads = 3});
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_GT(summary->num_quantized, 0);
    EXPECT_LT(summary->num_bytes, summary->source_bytes + 96 * 32);
    EXPECT_TRUE(std::filesystem::exists(copy_path / "tokenizer.json"));
    EXPECT_FALSE(std::filesystem::exists(copy_path.string() + ".partial"));

    Loaded stored(copy_path);
    Loaded at_load(source_path, name());
    const Divergence same = compare(stored, at_load);
    EXPECT_EQ(same.kl_max, 0.0);
    EXPECT_EQ(same.base_nll, same.other_nll);

    Loaded original(source_path);
    Loaded again(copy_path, name());
    const Divergence cost = compare(original, again);
    EXPECT_GT(cost.kl, 0.0) << "nothing was quantised";
    // Width 32 and random weights make a sharp model: 0.01 and 0.2 were seen, 1 and more where a
    // scale or an order is wrong.
    EXPECT_LT(cost.kl, GetParam() == 8 ? 0.02 : 0.4);
  }
}

// A head that is stored although it is tied has to be the table, quantised or not.
TEST_P(QuantizedCheckpoint, ChecksATiedHeadBeforeQuantisingIt) {
  const TempDirectory directory("tied_" + name());
  const json::Object config = with_tied_head(test::moe_config());
  OwnedTensors tensors = test::random_weights(config);
  tensors["lm_head.weight"] = tensors.at("model.embed_tokens.weight");
  test::write_checkpoint(directory.path(), config, tensors);
  EXPECT_EQ(Loaded(directory.path(), name()).error, "");
  tensors["lm_head.weight"].bytes[0] ^= std::byte{1};
  test::write_checkpoint(directory.path(), config, tensors);
  EXPECT_THAT(Loaded(directory.path(), name()).error, HasSubstr("differs from the embeddings"));
}

TEST_P(QuantizedCheckpoint, RefusesASecondTimeAndAnotherType) {
  const TempDirectory directory("requantized_" + name());
  const auto source_path = directory.path() / "source";
  const auto copy_path = directory.path() / "copy";
  std::filesystem::create_directories(source_path);
  test::write_checkpoint(source_path, test::moe_config(), test::random_weights(test::moe_config()));
  const auto source = Checkpoint::open(source_path);
  ASSERT_TRUE(
      quantize_checkpoint(**source, {.directory = copy_path, .quantization = quantization()}));
  const auto in_use =
      quantize_checkpoint(**source, {.directory = copy_path, .quantization = quantization()});
  ASSERT_FALSE(in_use);
  EXPECT_THAT(in_use.error().message, HasSubstr("exists"));
  const auto copy = Checkpoint::open(copy_path);
  ASSERT_TRUE(copy);
  const auto twice = quantize_checkpoint(
      **copy, {.directory = directory.path() / "twice", .quantization = quantization()});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("already"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "twice.partial"));
  EXPECT_THAT(Loaded(copy_path, GetParam() == 4 ? "int8" : "int4").error, HasSubstr("not to"));
  EXPECT_THAT(Loaded(source_path, "int3").error, HasSubstr("int3"));
}

TEST_P(QuantizedCheckpoint, NamesATensorThatIsNotFinite) {
  const TempDirectory directory("infinite_" + name());
  OwnedTensors tensors = test::random_weights(test::moe_config());
  const std::string spoilt = "model.layers.1.mlp.experts.down_proj";
  ASSERT_TRUE(tensors.contains(spoilt));
  tensors[spoilt].bytes[100] = std::byte{0x80};
  tensors[spoilt].bytes[101] = std::byte{0x7f};  // bfloat16 infinity
  test::write_checkpoint(directory.path(), test::moe_config(), tensors);
  const auto source = Checkpoint::open(directory.path());
  const auto copied = quantize_checkpoint(
      **source, {.directory = directory.path() / "copy", .quantization = quantization()});
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().message, HasSubstr(spoilt));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "copy.partial"));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "copy"));
  EXPECT_THAT(Loaded(directory.path(), name()).error, HasSubstr(spoilt));
}

INSTANTIATE_TEST_SUITE_P(Bits, QuantizedCheckpoint, ::testing::Values(8, 4));

// A copy whose tensors are changed one at a time.
class DamagedCopy : public ::testing::Test {
 protected:
  DamagedCopy() {
    const auto source_path = directory_.path() / "source";
    std::filesystem::create_directories(source_path);
    test::write_checkpoint(source_path, test::moe_config(),
                           test::random_weights(test::moe_config()));
    const auto source = Checkpoint::open(source_path);
    EXPECT_TRUE(quantize_checkpoint(
        **source, {.directory = directory_.path() / "copy", .quantization = kInt4}));
    const auto copy = Checkpoint::open(directory_.path() / "copy");
    config_ = (*copy)->config();
    for (const std::string& name : (*copy)->names()) {
      const TensorView& view = *(*copy)->find(name);
      tensors_[name] = {.dtype = view.dtype,
                        .shape = view.shape,
                        .bytes = {view.data, view.data + view.num_bytes()}};
    }
  }

  std::string load_error() {
    const auto path = directory_.path() / ("damaged" + std::to_string(count_++));
    std::filesystem::create_directories(path);
    test::write_checkpoint(path, config_, tensors_);
    return Loaded(path).error;
  }

  TempDirectory directory_{"damaged"};
  json::Object config_;
  OwnedTensors tensors_;
  int count_ = 0;
};

TEST_F(DamagedCopy, IsRefusedByName) {
  EXPECT_EQ(load_error(), "");
  const std::string codes = "model.layers.0.mlp.shared_expert.up_proj.qweight";
  const std::string scales = "model.layers.0.mlp.shared_expert.up_proj.scales";
  ASSERT_TRUE(tensors_.contains(codes) && tensors_.contains(scales));
  const OwnedTensors good = tensors_;

  tensors_.erase(scales);
  EXPECT_THAT(load_error(), HasSubstr(scales + "\" is missing"));
  tensors_ = good;
  tensors_.erase(codes);
  EXPECT_THAT(load_error(), HasSubstr(codes + "\" is missing"));
  tensors_ = good;
  tensors_[codes].dtype = DType::kI8;
  EXPECT_THAT(load_error(), HasSubstr("asks for"));
  tensors_ = good;
  tensors_[codes].shape = {tensors_[codes].shape[1], tensors_[codes].shape[0]};
  EXPECT_THAT(load_error(), HasSubstr(codes));
  tensors_ = good;
  tensors_[scales].dtype = DType::kF16;
  EXPECT_THAT(load_error(), HasSubstr(scales));
  tensors_ = good;
  tensors_["model.layers.0.mlp.shared_expert.up_proj.weight"] = good.at(scales);
  EXPECT_THAT(load_error(), HasSubstr("belongs to nothing"));
  tensors_ = good;
  config_.erase("quantization_config");
  EXPECT_THAT(load_error(), HasSubstr("has no tensor"));
}

}  // namespace
}  // namespace deltaserve
