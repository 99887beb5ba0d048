// config.json of every model type of the family: the vision-language wrapper with a text_config and
// the flat text forms. What would change the maths and is not implemented is refused by its name;
// sizes are bounded so that no later product of two of them leaves 63 bits, or 31 where it is kept
// in an int32_t.
#include "model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "json/fields.h"
#include "model/config_reader.h"
#include "model/rope.h"

namespace deltaserve {

namespace {

struct ModelType {
  std::string_view model_type;
  std::string_view architecture;
  bool is_wrapper;  // text_config and vision_config inside
  bool is_moe;
  bool fused_qkvz;
};

constexpr std::array<ModelType, 5> kModelTypes = {{
    {"qwen3_5", "Qwen3_5ForConditionalGeneration", true, false, false},
    {"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", true, true, false},
    {"qwen3_5_text", "Qwen3_5ForCausalLM", false, false, false},
    {"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", false, true, false},
    {"qwen3_next", "Qwen3NextForCausalLM", false, true, true},
}};

// The largest release has H 8192, V 248320, 92 layers, 512 experts: these leave a factor of 4 or
// more, and nh * head_dim * 2 or conv channels still fit 31 bits.
constexpr int32_t kMaxVocab = 1 << 20;  // what samplers are written for
constexpr int32_t kMaxWidth = 1 << 18;
constexpr int32_t kMaxLayers = 1024;
constexpr int32_t kMaxHeads = 1024;
constexpr int32_t kMaxHeadDim = 1024;
constexpr int32_t kMaxExperts = 8192;
constexpr int64_t kMaxPositions = int64_t{1} << 31;

// config.json of the releases before vision ids were written out.
constexpr int32_t kImageTokenId = 248056;
constexpr int32_t kVideoTokenId = 248057;

const ModelType* find_model_type(ConfigReader& outer) {
  const std::string name = outer.string("model_type", "");
  for (const ModelType& type : kModelTypes) {
    if (type.model_type == name) {
      return &type;
    }
  }
  if (name == "qwen4_exp") {
    outer.refuse("model_type",
                 "qwen4_exp (Qwen3.8-Flash-Next) is a different architecture and is "
                 "not supported");
  } else {
    outer.refuse("model_type",
                 fmt::format("\"{}\" is not supported; supported are qwen3_next, qwen3_5, "
                             "qwen3_5_moe, qwen3_5_text and qwen3_5_moe_text",
                             name));
  }
  return nullptr;
}

void check_architecture(ConfigReader& outer, const ModelType& type) {
  const json::Array* list = outer.array("architectures");
  if (list == nullptr || list->empty()) {
    return;
  }
  const bool named = std::ranges::any_of(*list, [&](const json::Value& value) {
    return value.is_string() && value.get_string() == type.architecture;
  });
  if (!named) {
    const std::string first =
        list->front().is_string() ? std::string(list->front().get_string()) : "";
    outer.refuse("architectures", fmt::format("\"{}\" is not supported; {} is for model_type {}",
                                              first, type.architecture, type.model_type));
  }
}

// The block that `deltaserve quantize` writes, if there is one; those of other tools are refused.
std::optional<QuantizationConfig> read_own_quantization(ConfigReader& reader) {
  std::optional<QuantizationConfig> own;
  for (const std::string_view key : {"quantization_config", "compression_config"}) {
    const json::Object* block = reader.object(key);
    if (block == nullptr) {
      continue;
    }
    ConfigReader nested(*block, std::string(key));
    if (const std::string method = nested.string("quant_method", "unknown");
        method != kQuantMethod) {
      reader.refuse(key, fmt::format("has quant_method \"{}\": quantised checkpoints are not "
                                     "supported yet; use the bf16 one",
                                     method));
    }
    own = read_quantization(nested);
    reader.adopt(nested);
  }
  return own;
}

// Keys that would change the maths.
void refuse_variants(ConfigReader& text) {
  if (const std::string act = text.string("hidden_act", "silu"); act != "silu") {
    text.refuse("hidden_act", fmt::format("\"{}\" is not supported (silu is)", act));
  }
  if (text.boolean("attention_bias", false)) {
    text.refuse("attention_bias", "true is not supported");
  }
  if (!text.boolean("attn_output_gate", true)) {
    text.refuse("attn_output_gate", "false is not supported");
  }
  if (const std::string gate = text.string("output_gate_type", "swish");
      gate != "swish" && gate != "silu") {
    text.refuse("output_gate_type",
                fmt::format("\"{}\" is not supported (swish and silu are)", gate));
  }
  if (const json::Array* dense = text.array("mlp_only_layers");
      dense != nullptr && !dense->empty()) {
    text.refuse("mlp_only_layers", "other than [] is not supported");
  }
  if (text.has("decoder_sparse_step") && text.integer("decoder_sparse_step", 0, kMaxLayers) != 1) {
    text.refuse("decoder_sparse_step", "other than 1 is not supported");
  }
  if (text.integer("linear_conv_kernel_dim", 0, kMaxWidth, 4) != 4) {
    text.refuse("linear_conv_kernel_dim", "other than 4 is not supported");
  }
}

std::vector<LayerType> read_layer_types(ConfigReader& text, int32_t num_layers) {
  std::vector<LayerType> types;
  const json::Array* list = text.array("layer_types");
  if (list == nullptr) {
    const int32_t interval = text.integer32("full_attention_interval", 1, kMaxLayers, 4);
    for (int32_t i = 0; i < num_layers; ++i) {
      types.push_back((i + 1) % interval == 0 ? LayerType::kFullAttention
                                              : LayerType::kLinearAttention);
    }
    return types;
  }
  if (list->size() != static_cast<size_t>(num_layers)) {
    text.refuse("layer_types",
                fmt::format("has {} entries for {} layers", list->size(), num_layers));
  }
  for (const json::Value& value : *list) {
    const std::string_view name = value.is_string() ? std::string_view(value.get_string()) : "";
    if (name != "linear_attention" && name != "full_attention") {
      text.refuse("layer_types", fmt::format("\"{}\" is not supported", name.substr(0, 64)));
    }
    types.push_back(name == "full_attention" ? LayerType::kFullAttention
                                             : LayerType::kLinearAttention);
  }
  return types;
}

void read_heads(ConfigReader& text, ModelConfig& config) {
  config.num_attention_heads = text.integer32("num_attention_heads", 1, kMaxHeads);
  config.num_key_value_heads = text.integer32("num_key_value_heads", 1, kMaxHeads);
  config.head_dim = text.integer32("head_dim", 2, kMaxHeadDim, 256);
  config.linear_num_key_heads = text.integer32("linear_num_key_heads", 1, kMaxHeads, 16);
  config.linear_num_value_heads = text.integer32("linear_num_value_heads", 1, kMaxHeads, 32);
  config.linear_key_head_dim = text.integer32("linear_key_head_dim", 1, kMaxHeadDim, 128);
  config.linear_value_head_dim = text.integer32("linear_value_head_dim", 1, kMaxHeadDim, 128);
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    text.refuse("num_key_value_heads", "must divide num_attention_heads");
  }
  if (config.linear_num_value_heads % config.linear_num_key_heads != 0) {
    text.refuse("linear_num_key_heads", "must divide linear_num_value_heads");
  }
}

MoeConfig read_moe(ConfigReader& text, const ModelType& type) {
  MoeConfig moe;
  moe.num_experts = text.integer32("num_experts", 1, kMaxExperts);
  moe.num_experts_per_tok = text.integer32("num_experts_per_tok", 1, moe.num_experts);
  moe.moe_intermediate_size = text.integer32("moe_intermediate_size", 1, kMaxWidth);
  moe.shared_expert_intermediate_size =
      text.integer32("shared_expert_intermediate_size", 1, kMaxWidth);
  // Only Qwen3-Next has the key; the others always renormalise.
  moe.norm_topk_prob = type.fused_qkvz ? text.boolean("norm_topk_prob", true) : true;
  return moe;
}

VisionConfig read_vision(ConfigReader& reader, int32_t text_hidden_size) {
  VisionConfig vision;
  vision.depth = reader.integer32("depth", 1, kMaxLayers);
  vision.hidden_size = reader.integer32("hidden_size", 1, kMaxWidth / 4);
  vision.intermediate_size = reader.integer32("intermediate_size", 1, kMaxWidth);
  vision.num_heads = reader.integer32("num_heads", 1, kMaxHeads);
  vision.patch_size = reader.integer32("patch_size", 1, 256, 16);
  vision.temporal_patch_size = reader.integer32("temporal_patch_size", 1, 16, 2);
  vision.spatial_merge_size = reader.integer32("spatial_merge_size", 1, 16, 2);
  vision.num_position_embeddings = reader.integer32("num_position_embeddings", 1, kMaxVocab, 2304);
  vision.out_hidden_size = reader.integer32("out_hidden_size", 1, kMaxWidth);
  if (const auto side = static_cast<int32_t>(std::sqrt(vision.num_position_embeddings));
      side * side != vision.num_position_embeddings) {
    reader.refuse("num_position_embeddings", "must be a square");
  }
  if (vision.hidden_size % vision.num_heads != 0) {
    reader.refuse("num_heads", "must divide hidden_size");
  }
  if (vision.out_hidden_size != text_hidden_size) {
    reader.refuse("out_hidden_size", fmt::format("is {} but the text model's hidden_size is {}",
                                                 vision.out_hidden_size, text_hidden_size));
  }
  if (reader.integer("in_channels", 0, kMaxWidth, 3) != 3) {
    reader.refuse("in_channels", "other than 3 is not supported");
  }
  if (const std::string act = reader.string("hidden_act", "gelu_pytorch_tanh");
      act != "gelu_pytorch_tanh") {
    reader.refuse("hidden_act", fmt::format("\"{}\" is not supported", act));
  }
  if (const json::Array* indexes = reader.array("deepstack_visual_indexes");
      indexes != nullptr && !indexes->empty()) {
    reader.refuse("deepstack_visual_indexes", "other than [] is not supported");
  }
  return vision;
}

void read_text(ConfigReader& text, const ModelType& type, ModelConfig& config) {
  if (const auto quantization = read_own_quantization(text)) {
    config.quantization = quantization;
  }
  refuse_variants(text);
  config.vocab_size = text.integer32("vocab_size", 1, kMaxVocab);
  config.hidden_size = text.integer32("hidden_size", 1, kMaxWidth);
  config.num_hidden_layers = text.integer32("num_hidden_layers", 1, kMaxLayers);
  config.layer_types = read_layer_types(text, config.num_hidden_layers);
  read_heads(text, config);
  if (type.is_moe) {
    config.moe = read_moe(text, type);
  } else {
    config.intermediate_size = text.integer32("intermediate_size", 1, kMaxWidth);
  }
  config.rms_norm_eps = static_cast<float>(text.number("rms_norm_eps", 1e-12, 1.0, 1e-6));
  const int64_t positions = text.integer("max_position_embeddings", 1, kMaxPositions);
  ParsedRope parsed = parse_rope(text, config.head_dim, positions, type.is_wrapper);
  config.rope = std::move(parsed.rope);
  config.max_position_embeddings = parsed.max_position_embeddings;
}

void read_wrapper(ConfigReader& outer, ModelConfig& config) {
  if (const json::Object* object = outer.object("vision_config"); object != nullptr) {
    ConfigReader vision(*object, "vision_config");
    config.vision = read_vision(vision, config.hidden_size);
    outer.adopt(vision);
  }
  const auto token_id = [&](std::string_view key, int32_t fallback) {
    if (!outer.has(key)) {
      return fallback < config.vocab_size ? fallback : -1;
    }
    return outer.integer32(key, 0, config.vocab_size - 1);
  };
  config.image_token_id = token_id("image_token_id", kImageTokenId);
  config.video_token_id = token_id("video_token_id", kVideoTokenId);
}

}  // namespace

int32_t ModelConfig::num_linear_layers() const {
  return static_cast<int32_t>(std::ranges::count(layer_types, LayerType::kLinearAttention));
}

int32_t ModelConfig::num_full_layers() const {
  return static_cast<int32_t>(std::ranges::count(layer_types, LayerType::kFullAttention));
}

Result<ModelConfig> parse_model_config(const json::Object& object) {
  ConfigReader outer(object, "");
  ModelConfig config;
  const ModelType* type = find_model_type(outer);
  if (type == nullptr) {
    return std::unexpected(outer.error());
  }
  check_architecture(outer, *type);
  config.quantization = read_own_quantization(outer);
  config.model_type = type->model_type;
  config.architecture = type->architecture;
  config.weight_prefix = type->is_wrapper ? "model.language_model." : "model.";
  config.fused_qkvz = type->fused_qkvz;

  const json::Object* text_object = type->is_wrapper ? outer.object("text_config") : &object;
  if (text_object == nullptr) {
    outer.refuse("text_config", "is missing");
    return std::unexpected(outer.error());
  }
  ConfigReader text(*text_object, type->is_wrapper ? "text_config" : "");
  read_text(text, *type, config);
  outer.adopt(text);
  if (type->is_wrapper) {
    read_wrapper(outer, config);
  }
  config.tie_word_embeddings = outer.has("tie_word_embeddings")
                                   ? outer.boolean("tie_word_embeddings", false)
                                   : text.boolean("tie_word_embeddings", false);
  config.eos_token_ids = outer.token_ids("eos_token_id");
  for (const int32_t id : text.token_ids("eos_token_id")) {
    if (std::ranges::find(config.eos_token_ids, id) == config.eos_token_ids.end()) {
      config.eos_token_ids.push_back(id);
    }
  }
  outer.adopt(text);
  if (outer.failed()) {
    return std::unexpected(outer.error());
  }
  return config;
}

}  // namespace deltaserve
