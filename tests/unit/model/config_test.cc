// config.json: every model type, the fallbacks, rope and YaRN, and refusals that name their key.
#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace deltaserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The 0.8B's text_config without optional keys.
constexpr const char* kText = R"({
  "vocab_size": 248320, "hidden_size": 1024, "intermediate_size": 3584, "num_hidden_layers": 24,
  "num_attention_heads": 8, "num_key_value_heads": 2, "linear_num_value_heads": 16,
  "max_position_embeddings": 262144, "eos_token_id": 248044,
  "rope_parameters": {"rope_type": "default", "rope_theta": 10000000}})";

constexpr const char* kVision = R"({"depth": 12, "hidden_size": 768, "intermediate_size": 3072,
  "num_heads": 12, "out_hidden_size": 1024})";

json::Object object_of(std::string_view text) {
  return json::parse(text)->as_object();
}

json::Object wrapper() {
  json::Object outer;
  outer["model_type"] = "qwen3_5";
  outer["architectures"] = {"Qwen3_5ForConditionalGeneration"};
  outer["text_config"] = object_of(kText);
  outer["vision_config"] = object_of(kVision);
  outer["tie_word_embeddings"] = true;
  return outer;
}

json::Object flat(const std::string& model_type) {
  json::Object config = object_of(kText);
  config["model_type"] = model_type;
  config["num_experts"] = 8;
  config["num_experts_per_tok"] = 2;
  config["moe_intermediate_size"] = 512;
  config["shared_expert_intermediate_size"] = 512;
  return config;
}

json::Object with_text(const std::string& key, json::Value value) {
  json::Object outer = wrapper();
  outer["text_config"].as_object()[key] = std::move(value);
  return outer;
}

json::Object with_rope(const std::string& rope) {
  return with_text("rope_parameters", json::parse(rope).value());
}

std::string error_of(const json::Object& config) {
  const Result<ModelConfig> parsed = parse_model_config(config);
  return parsed ? "" : parsed.error().message;
}

TEST(ModelConfig, ReadsTheWrapperWithFallbacks) {
  const Result<ModelConfig> config = parse_model_config(wrapper());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->model_type, "qwen3_5");
  EXPECT_EQ(config->weight_prefix, "model.language_model.");
  EXPECT_EQ(config->head_dim, 256);
  EXPECT_EQ(config->linear_num_key_heads, 16);
  EXPECT_EQ(config->conv_channels(), 6144);
  EXPECT_EQ(config->num_full_layers(), 6);
  EXPECT_EQ(config->num_linear_layers(), 18);
  EXPECT_EQ(config->layer_types[3], LayerType::kFullAttention);
  EXPECT_EQ(config->rope.rotary_dim, 64);
  EXPECT_FLOAT_EQ(config->rms_norm_eps, 1e-6F);
  EXPECT_TRUE(config->tie_word_embeddings);
  EXPECT_FALSE(config->moe);
  EXPECT_FALSE(config->fused_qkvz);
  ASSERT_TRUE(config->vision);
  EXPECT_EQ(config->vision->num_position_embeddings, 2304);
  EXPECT_EQ(config->image_token_id, 248056);
  EXPECT_EQ(config->video_token_id, 248057);
  EXPECT_THAT(config->eos_token_ids, ElementsAre(248044));
}

TEST(ModelConfig, ReadsEveryFlatType) {
  const Result<ModelConfig> dense = parse_model_config(flat("qwen3_5_text"));
  ASSERT_TRUE(dense) << dense.error().message;
  EXPECT_EQ(dense->weight_prefix, "model.");
  EXPECT_FALSE(dense->moe);
  EXPECT_FALSE(dense->vision);
  EXPECT_EQ(dense->image_token_id, -1);

  const Result<ModelConfig> moe = parse_model_config(flat("qwen3_5_moe_text"));
  ASSERT_TRUE(moe) << moe.error().message;
  ASSERT_TRUE(moe->moe);
  EXPECT_EQ(moe->moe->num_experts, 8);
  EXPECT_EQ(moe->moe->shared_expert_intermediate_size, 512);

  json::Object next_config = flat("qwen3_next");
  next_config["norm_topk_prob"] = false;
  const Result<ModelConfig> next = parse_model_config(next_config);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_TRUE(next->fused_qkvz);
  EXPECT_FALSE(next->moe->norm_topk_prob);
}

TEST(ModelConfig, RopeThetaIsFoundInEveryPlaceItHasBeen) {
  json::Object config = flat("qwen3_next");
  config.erase("rope_parameters");
  EXPECT_THAT(error_of(config), HasSubstr("rope_theta is missing"));
  config["rope_theta"] = 5e6;
  config["rope_scaling"] = nullptr;
  config["partial_rotary_factor"] = 0.5;
  const Result<ModelConfig> parsed = parse_model_config(config);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->rope.theta, 5e6);
  EXPECT_EQ(parsed->rope.rotary_dim, 128);
  config["rope_scaling"] =
      object_of(R"({"type": "yarn", "factor": 2, "original_max_position_embeddings": 262144})");
  const Result<ModelConfig> scaled = parse_model_config(config);
  ASSERT_TRUE(scaled) << scaled.error().message;
  EXPECT_EQ(scaled->max_position_embeddings, 524288);
}

TEST(ModelConfig, FrequenciesFallGeometrically) {
  const Result<ModelConfig> config = parse_model_config(wrapper());
  ASSERT_TRUE(config);
  ASSERT_EQ(config->rope.inv_freq.size(), 32U);
  for (int j = 0; j < 32; ++j) {
    const double expected = std::pow(1e7, -2.0 * j / 64.0);
    EXPECT_NEAR(config->rope.inv_freq[static_cast<size_t>(j)], expected, expected * 2e-7);
  }
  EXPECT_EQ(config->rope.attention_factor, 1.0F);
}

TEST(ModelConfig, MropeAxesAreInterleaved) {
  const Result<ModelConfig> config = parse_model_config(wrapper());
  ASSERT_TRUE(config);
  for (size_t j = 0; j < 32; ++j) {
    EXPECT_EQ(config->rope.mrope_axis[j], j % 3) << j;
  }
  json::Object small = with_rope(R"({"rope_theta": 1e7, "mrope_section": [2, 1, 1]})");
  small["text_config"].as_object()["head_dim"] = 32;
  const Result<ModelConfig> parsed = parse_model_config(small);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_THAT(parsed->rope.mrope_axis, ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(error_of(with_rope(R"({"rope_theta": 1e7, "mrope_section": [2, 1, 1]})")),
              HasSubstr("mrope_section"));
  EXPECT_THAT(error_of(with_rope(R"({"rope_theta": 1e7, "mrope_interleaved": false})")),
              HasSubstr("mrope_interleaved"));
}

// The ramp runs from dimension 14 to 22 at the released sizes.
TEST(ModelConfig, YarnSlowsLowFrequenciesOnly) {
  const Result<ModelConfig> plain = parse_model_config(wrapper());
  const Result<ModelConfig> yarn =
      parse_model_config(with_rope(R"({"rope_type": "yarn", "rope_theta": 1e7, "factor": 4.0,
                    "original_max_position_embeddings": 262144})"));
  ASSERT_TRUE(yarn) << yarn.error().message;
  EXPECT_NEAR(yarn->rope.attention_factor, 1.1386294, 1e-6);
  EXPECT_EQ(yarn->max_position_embeddings, 1048576);
  for (size_t j = 0; j < 32; ++j) {
    const double ramp = std::clamp((static_cast<double>(j) - 14.0) / 8.0, 0.0, 1.0);
    const double base = plain->rope.inv_freq[j];
    EXPECT_NEAR(yarn->rope.inv_freq[j], base / 4.0 * ramp + base * (1.0 - ramp), base * 1e-6) << j;
  }
}

TEST(ModelConfig, YarnReadsItsOptions) {
  const Result<ModelConfig> yarn = parse_model_config(
      with_rope(R"({"rope_type": "yarn", "rope_theta": 1e7, "factor": 2.0, "beta_fast": 16,
                    "beta_slow": 2, "truncate": false, "attention_factor": 1.25,
                    "original_max_position_embeddings": 262144})"));
  ASSERT_TRUE(yarn) << yarn.error().message;
  EXPECT_EQ(yarn->rope.attention_factor, 1.25F);
  const auto dim_of = [](double rotations) {
    return 64.0 * std::log(262144.0 / (rotations * 2.0 * M_PI)) / (2.0 * std::log(1e7));
  };
  const double ramp = (17.0 - dim_of(16)) / (dim_of(2) - dim_of(16));
  const double base = std::pow(1e7, -34.0 / 64.0);
  EXPECT_NEAR(yarn->rope.inv_freq[17], base * (1.0 - ramp / 2.0), base * 1e-6);
  EXPECT_THAT(error_of(with_rope(R"({"rope_type": "yarn", "rope_theta": 1e7})")),
              HasSubstr("rope_parameters.factor is missing"));
  EXPECT_THAT(error_of(with_rope(R"({"rope_type": "yarn", "rope_theta": 1e7, "factor": 0})")),
              HasSubstr("rope_parameters.factor"));
}

TEST(ModelConfig, OtherRopeTypesAreRefused) {
  EXPECT_THAT(error_of(with_rope(R"({"rope_type": "llama3", "rope_theta": 1e7})")),
              HasSubstr("\"llama3\" is not supported"));
  json::Object both = wrapper();
  both["text_config"].as_object()["rope_scaling"] = object_of(R"({"type": "yarn", "factor": 2})");
  EXPECT_THAT(error_of(both), HasSubstr("rope_scaling contradicts"));
}

TEST(ModelConfig, UnknownModelsAreRefusedByName) {
  json::Object config = wrapper();
  config["model_type"] = "qwen4_exp";
  EXPECT_THAT(error_of(config), HasSubstr("Qwen3.8-Flash-Next"));
  config["model_type"] = "llama";
  EXPECT_THAT(error_of(config), HasSubstr("\"llama\" is not supported"));
  config.erase("model_type");
  EXPECT_THAT(error_of(config), HasSubstr("model_type"));
  config = wrapper();
  config["architectures"] = {"Qwen3_5ForSequenceClassification"};
  EXPECT_THAT(error_of(config), HasSubstr("Qwen3_5ForSequenceClassification"));
}

TEST(ModelConfig, QuantisedCheckpointsAreRefusedByMethod) {
  json::Object config = wrapper();
  config["quantization_config"] = object_of(R"({"quant_method": "fp8"})");
  EXPECT_THAT(error_of(config), HasSubstr("quant_method \"fp8\""));
  EXPECT_THAT(error_of(with_text("quantization_config", object_of(R"({"quant_method":"gptq"})"))),
              HasSubstr("\"gptq\": quantised checkpoints are not supported yet"));
}

TEST(ModelConfig, VariantsOfTheMathsAreRefusedByKey) {
  EXPECT_THAT(error_of(with_text("hidden_act", "gelu")), HasSubstr("text_config.hidden_act"));
  EXPECT_THAT(error_of(with_text("attention_bias", true)), HasSubstr("attention_bias"));
  EXPECT_THAT(error_of(with_text("attn_output_gate", false)), HasSubstr("attn_output_gate"));
  EXPECT_THAT(error_of(with_text("output_gate_type", "sigmoid")), HasSubstr("output_gate_type"));
  EXPECT_EQ(error_of(with_text("output_gate_type", "swish")), "");
  EXPECT_THAT(error_of(with_text("linear_conv_kernel_dim", 3)), HasSubstr("conv_kernel"));
  EXPECT_THAT(error_of(with_text("mlp_only_layers", json::Array{0})), HasSubstr("mlp_only"));
  EXPECT_EQ(error_of(with_text("mlp_only_layers", json::Array{})), "");
  EXPECT_THAT(error_of(with_text("decoder_sparse_step", 2)), HasSubstr("decoder_sparse_step"));
  EXPECT_THAT(error_of(with_text("layer_types", json::Array{"full_attention"})),
              HasSubstr("1 entries for 24 layers"));
  json::Object deepstack = wrapper();
  deepstack["vision_config"].as_object()["deepstack_visual_indexes"] = {5};
  EXPECT_THAT(error_of(deepstack), HasSubstr("deepstack"));
}

TEST(ModelConfig, ValuesOutOfRangeAreRefusedByKey) {
  EXPECT_THAT(error_of(with_text("vocab_size", 0)), HasSubstr("vocab_size is 0"));
  EXPECT_THAT(error_of(with_text("hidden_size", INT64_MAX)), HasSubstr("hidden_size"));
  EXPECT_THAT(error_of(with_text("num_hidden_layers", "many")), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of(with_text("num_hidden_layers", 1.5)), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of(with_text("num_key_value_heads", 3)), HasSubstr("must divide"));
  EXPECT_THAT(error_of(with_text("linear_num_value_heads", 24)), HasSubstr("must divide"));
  EXPECT_THAT(error_of(with_text("rms_norm_eps", 0.0)), HasSubstr("rms_norm_eps"));
  EXPECT_THAT(error_of(with_text("max_position_embeddings", nullptr)), HasSubstr("is missing"));
  EXPECT_THAT(error_of(with_text("eos_token_id", -1)), HasSubstr("eos_token_id"));
  json::Object experts = flat("qwen3_next");
  experts["num_experts_per_tok"] = 9;
  EXPECT_THAT(error_of(experts), HasSubstr("num_experts_per_tok is 9"));
  json::Object vision = wrapper();
  vision["vision_config"].as_object()["out_hidden_size"] = 512;
  EXPECT_THAT(error_of(vision), HasSubstr("vision_config.out_hidden_size"));
  json::Object no_text = wrapper();
  no_text.erase("text_config");
  EXPECT_THAT(error_of(no_text), HasSubstr("text_config is missing"));
}

TEST(GenerationConfig, ReadsStopsAndDefaults) {
  const Result<GenerationConfig> config = parse_generation_config(
      *json::parse(R"({"eos_token_id": [248046, 248044], "top_k": 20, "top_p": 0.95,
                       "temperature": 1.0, "do_sample": true, "pad_token_id": 248044})"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->eos_token_ids, ElementsAre(248046, 248044));
  EXPECT_EQ(config->top_k, 20);
  EXPECT_EQ(config->top_p, 0.95);
  EXPECT_EQ(config->temperature, 1.0);
  EXPECT_EQ(config->do_sample, true);
  EXPECT_FALSE(config->min_p);

  const Result<GenerationConfig> absent = parse_generation_config(nullptr);
  ASSERT_TRUE(absent);
  EXPECT_TRUE(absent->eos_token_ids.empty());
  EXPECT_THAT(parse_generation_config(*json::parse(R"({"top_p": 1.5})")).error().message,
              HasSubstr("generation_config.json: top_p"));
  EXPECT_FALSE(parse_generation_config(json::Array{}));
}

}  // namespace
}  // namespace deltaserve
