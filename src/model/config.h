// What config.json says about a model, for every model type of the family, checked: an unknown
// type, an unsupported rope or quantisation, or a key out of range is refused with its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "json/json.h"
#include "model/quantization.h"

namespace deltaserve {

enum class LayerType : uint8_t { kLinearAttention, kFullAttention };

struct RopeConfig {
  double theta = 1e7;
  int32_t rotary_dim = 64;          // partial_rotary_factor * head_dim
  std::vector<float> inv_freq;      // [rotary_dim / 2], YaRN applied
  std::vector<uint8_t> mrope_axis;  // [rotary_dim / 2] 0 = T, 1 = H, 2 = W
  float attention_factor = 1.0F;    // on cos and sin; not 1 with YaRN
};

struct MoeConfig {
  int32_t num_experts = 0;            // E
  int32_t num_experts_per_tok = 0;    // K
  int32_t moe_intermediate_size = 0;  // I
  int32_t shared_expert_intermediate_size = 0;
  bool norm_topk_prob = true;
};

struct VisionConfig {
  int32_t depth = 0;
  int32_t hidden_size = 0;
  int32_t intermediate_size = 0;
  int32_t num_heads = 0;
  int32_t patch_size = 16;
  int32_t temporal_patch_size = 2;
  int32_t spatial_merge_size = 2;
  int32_t num_position_embeddings = 0;
  int32_t out_hidden_size = 0;
};

struct ModelConfig {
  std::string architecture;   // "Qwen3_5MoeForConditionalGeneration"
  std::string model_type;     // outer model_type, "qwen3_5_moe"
  std::string weight_prefix;  // "model.language_model." or "model."
  bool fused_qkvz = false;    // Qwen3-Next's in_proj_qkvz / in_proj_ba
  int32_t vocab_size = 0;     // V
  int32_t hidden_size = 0;    // H
  int32_t num_hidden_layers = 0;
  std::vector<LayerType> layer_types;
  int32_t num_attention_heads = 0;  // nh
  int32_t num_key_value_heads = 0;  // nkv
  int32_t head_dim = 0;
  int32_t linear_num_key_heads = 0;    // Hk
  int32_t linear_num_value_heads = 0;  // Hv
  int32_t linear_key_head_dim = 0;     // dk
  int32_t linear_value_head_dim = 0;   // dv
  int32_t intermediate_size = 0;       // dense FFN; unused if moe is set
  std::optional<MoeConfig> moe;
  float rms_norm_eps = 1e-6F;
  bool tie_word_embeddings = false;
  int64_t max_position_embeddings = 0;
  RopeConfig rope;
  std::optional<VisionConfig> vision;
  int32_t image_token_id = -1;
  int32_t video_token_id = -1;
  std::vector<int32_t> eos_token_ids;              // of config.json alone
  std::optional<QuantizationConfig> quantization;  // of a checkpoint by `deltaserve quantize`

  int32_t conv_channels() const {  // C
    return 2 * linear_num_key_heads * linear_key_head_dim +
           linear_num_value_heads * linear_value_head_dim;
  }
  int32_t num_linear_layers() const;
  int32_t num_full_layers() const;
};

Result<ModelConfig> parse_model_config(const json::Object& config);

// generation_config.json: where generation stops and the checkpoint's own sampling defaults.
struct GenerationConfig {
  std::vector<int32_t> eos_token_ids;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int64_t> top_k;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<bool> do_sample;
};

Result<GenerationConfig> parse_generation_config(const json::Value& value);

}  // namespace deltaserve
