// Loading of a layer, and which mixer it asks.
#include "model/decoder_layer.h"

#include <string>

namespace deltaserve {

DecoderLayer::DecoderLayer(const ModelConfig& config, int32_t index, WeightLoader& loader) {
  const std::string prefix = config.weight_prefix + "layers." + std::to_string(index) + ".";
  input_norm = loader.floats(prefix + "input_layernorm.weight", {config.hidden_size});
  post_attention_norm =
      loader.floats(prefix + "post_attention_layernorm.weight", {config.hidden_size});
  if (config.layer_types[static_cast<size_t>(index)] == LayerType::kLinearAttention) {
    mixer.emplace<GatedDeltaNet>(config, prefix + "linear_attn.", loader);
  } else {
    mixer.emplace<Attention>(config, prefix + "self_attn.", loader);
  }
  if (config.moe) {
    ffn.emplace<Moe>(config, prefix + "mlp.", loader);
  } else {
    ffn.emplace<Mlp>(config.hidden_size, config.intermediate_size, prefix + "mlp.", loader);
  }
}

LinearArgs DecoderLayer::input(const Step& step, const NormedRows& x) const {
  const auto* linear = std::get_if<GatedDeltaNet>(&mixer);
  return linear != nullptr ? linear->input(step, x) : std::get<Attention>(mixer).input(step, x);
}

LinearArgs DecoderLayer::output(const Step& step) const {
  const auto* linear = std::get_if<GatedDeltaNet>(&mixer);
  return linear != nullptr ? linear->output(step) : std::get<Attention>(mixer).output(step);
}

}  // namespace deltaserve
