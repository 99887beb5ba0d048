// Shapes of the releases; what they share is written once in the functions below the table.
#include "model/presets.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace deltaserve {

namespace {

struct Experts {
  int32_t count;
  int32_t per_token;
  int32_t width;  // of a routed expert and of the shared one
};

struct Tower {
  int32_t depth;
  int32_t hidden;
  int32_t inner;
  int32_t heads;
};

enum class Form : uint8_t { kWrapper, kFlat, kNext };

struct Preset {
  std::string_view name;
  Form form;
  int32_t hidden;
  int32_t layers;
  int32_t heads;
  int32_t kv_heads;
  int32_t value_heads;
  int32_t inner;  // of the dense FFN; Qwen3-Next states one without using it
  std::optional<Experts> experts;
  bool tied;
  std::optional<Tower> tower;
  int64_t rope_theta;
};

constexpr Tower kSmall = {12, 768, 3072, 12};
constexpr Tower kMedium = {24, 1024, 4096, 16};
constexpr Tower kLarge = {27, 1152, 4304, 16};
constexpr int64_t kTheta = 10'000'000;
constexpr auto kNone = std::nullopt;

constexpr std::array<Preset, 14> kPresets = {{
    {"qwen3.5-0.8b", Form::kWrapper, 1024, 24, 8, 2, 16, 3584, kNone, true, kSmall, kTheta},
    {"qwen3.5-2b", Form::kWrapper, 2048, 24, 8, 2, 16, 6144, kNone, true, kMedium, kTheta},
    {"qwen3.5-4b", Form::kWrapper, 2560, 32, 16, 4, 32, 9216, kNone, true, kMedium, kTheta},
    {"qwen3.5-9b", Form::kWrapper, 4096, 32, 16, 4, 32, 12288, kNone, false, kLarge, kTheta},
    {"qwen3.5-27b", Form::kWrapper, 5120, 64, 24, 4, 48, 17408, kNone, false, kLarge, kTheta},
    {"qwen3.6-27b", Form::kWrapper, 5120, 64, 24, 4, 48, 17408, kNone, false, kLarge, kTheta},
    {"qwen3.8-27b", Form::kWrapper, 5120, 64, 24, 4, 48, 17408, kNone, false, kLarge, kTheta},
    {"qwen3.5-35b-a3b", Form::kWrapper, 2048, 40, 16, 2, 32, 0, Experts{256, 8, 512}, false, kLarge,
     kTheta},
    {"qwen3.6-35b-a3b", Form::kWrapper, 2048, 40, 16, 2, 32, 0, Experts{256, 8, 512}, false, kLarge,
     kTheta},
    {"qwen3.5-122b-a10b", Form::kWrapper, 3072, 48, 32, 2, 64, 0, Experts{256, 8, 1024}, false,
     kLarge, kTheta},
    {"qwen3.5-397b-a17b", Form::kWrapper, 4096, 60, 32, 2, 64, 0, Experts{512, 10, 1024}, false,
     kLarge, kTheta},
    {"qwen3.8-2.4t-a95b", Form::kFlat, 8192, 92, 64, 4, 128, 0, Experts{512, 10, 2048}, false,
     kNone, kTheta},
    {"qwen3-next-80b-a3b", Form::kNext, 2048, 48, 16, 2, 32, 5120, Experts{512, 10, 512}, false,
     kNone, kTheta},
    {"qwen3-coder-next", Form::kNext, 2048, 48, 16, 2, 32, 5120, Experts{512, 10, 512}, false,
     kNone, 5'000'000},
}};

json::Object rope_parameters(const Preset& preset) {
  json::Object rope = {
      {"rope_type", "default"}, {"rope_theta", preset.rope_theta}, {"partial_rotary_factor", 0.25}};
  if (preset.form == Form::kWrapper) {
    rope["mrope_interleaved"] = true;
    rope["mrope_section"] = json::Array{11, 11, 10};
  }
  return rope;
}

// The keys of the text model, without model_type and architectures.
json::Object text_config(const Preset& preset, int32_t num_layers) {
  json::Array layer_types;
  layer_types.reserve(static_cast<size_t>(num_layers));
  for (int32_t i = 0; i < num_layers; ++i) {
    layer_types.emplace_back((i + 1) % 4 == 0 ? "full_attention" : "linear_attention");
  }
  const bool is_next = preset.form == Form::kNext;
  json::Object text = {{"vocab_size", is_next ? 151936 : 248320},
                       {"hidden_size", preset.hidden},
                       {"num_hidden_layers", num_layers},
                       {"num_attention_heads", preset.heads},
                       {"num_key_value_heads", preset.kv_heads},
                       {"head_dim", 256},
                       {"hidden_act", "silu"},
                       {"rms_norm_eps", 1e-6},
                       {"attention_bias", false},
                       {"attn_output_gate", true},
                       {"max_position_embeddings", 262144},
                       {"layer_types", layer_types},
                       {"full_attention_interval", 4},
                       {"linear_conv_kernel_dim", 4},
                       {"linear_key_head_dim", 128},
                       {"linear_value_head_dim", 128},
                       {"linear_num_key_heads", 16},
                       {"linear_num_value_heads", preset.value_heads},
                       {"rope_parameters", rope_parameters(preset)},
                       {"eos_token_id", is_next ? 151645 : 248044},
                       {"dtype", "bfloat16"}};
  if (preset.inner > 0) {
    text["intermediate_size"] = preset.inner;
  }
  if (preset.experts) {
    text["num_experts"] = preset.experts->count;
    text["num_experts_per_tok"] = preset.experts->per_token;
    text["moe_intermediate_size"] = preset.experts->width;
    text["shared_expert_intermediate_size"] = preset.experts->width;
  }
  if (is_next) {
    text["norm_topk_prob"] = true;
    text["decoder_sparse_step"] = 1;
    text["mlp_only_layers"] = json::Array{};
  }
  return text;
}

json::Object vision_config(const Preset& preset) {
  return {{"depth", preset.tower->depth},
          {"hidden_size", preset.tower->hidden},
          {"intermediate_size", preset.tower->inner},
          {"num_heads", preset.tower->heads},
          {"in_channels", 3},
          {"patch_size", 16},
          {"temporal_patch_size", 2},
          {"spatial_merge_size", 2},
          {"num_position_embeddings", 2304},
          {"hidden_act", "gelu_pytorch_tanh"},
          {"deepstack_visual_indexes", json::Array{}},
          {"out_hidden_size", preset.hidden}};
}

json::Object flat_config(const Preset& preset, json::Object text) {
  const bool is_next = preset.form == Form::kNext;
  text["architectures"] = json::Array{is_next ? "Qwen3NextForCausalLM" : "Qwen3_5MoeForCausalLM"};
  text["model_type"] = is_next ? "qwen3_next" : "qwen3_5_moe_text";
  text["tie_word_embeddings"] = preset.tied;
  return text;
}

json::Object wrapper_config(const Preset& preset, json::Object text, bool with_vision) {
  const bool is_moe = preset.experts.has_value();
  text["model_type"] = is_moe ? "qwen3_5_moe_text" : "qwen3_5_text";
  json::Object outer = {{"architectures", json::Array{is_moe ? "Qwen3_5MoeForConditionalGeneration"
                                                             : "Qwen3_5ForConditionalGeneration"}},
                        {"model_type", is_moe ? "qwen3_5_moe" : "qwen3_5"},
                        {"image_token_id", 248056},
                        {"video_token_id", 248057},
                        {"vision_start_token_id", 248053},
                        {"vision_end_token_id", 248054},
                        {"tie_word_embeddings", preset.tied},
                        {"text_config", std::move(text)}};
  if (with_vision) {
    outer["vision_config"] = vision_config(preset);
  }
  return outer;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  names.reserve(kPresets.size());
  for (const Preset& preset : kPresets) {
    names.emplace_back(preset.name);
  }
  return names;
}

Result<json::Object> preset_config(std::string_view name, const PresetOptions& options) {
  const Preset* preset = nullptr;
  std::string known;
  for (const Preset& candidate : kPresets) {
    preset = candidate.name == name ? &candidate : preset;
    known += known.empty() ? "" : ", ";
    known += candidate.name;
  }
  if (preset == nullptr) {
    return invalid(fmt::format("there is no preset \"{}\"; known are {}", name, known), "preset");
  }
  if (options.num_layers < 0 || options.num_layers > preset->layers) {
    return invalid(
        fmt::format("{} has {} layers, not {}", name, preset->layers, options.num_layers),
        "layers");
  }
  if (options.with_vision && !preset->tower) {
    return invalid(fmt::format("{} has no vision tower", name), "vision");
  }
  json::Object text =
      text_config(*preset, options.num_layers == 0 ? preset->layers : options.num_layers);
  return preset->form == Form::kWrapper
             ? wrapper_config(*preset, std::move(text), options.with_vision)
             : flat_config(*preset, std::move(text));
}

}  // namespace deltaserve
