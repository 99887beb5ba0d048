// Names, and the block of config.json.
#include "model/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tensor/quantize.h"

namespace deltaserve {

namespace {

constexpr int32_t kFormatVersion = 1;

constexpr std::string_view kLayers = ".layers.";
constexpr std::string_view kHead = "lm_head.weight";
constexpr std::string_view kWeight = ".weight";

// The last parts of the names of matrices in a layer, "experts.*" with the expert's number left
// out.
constexpr std::array<std::string_view, 15> kMatrices = {
    "self_attn.q_proj.weight",
    "self_attn.k_proj.weight",
    "self_attn.v_proj.weight",
    "self_attn.o_proj.weight",
    "linear_attn.in_proj_qkv.weight",
    "linear_attn.in_proj_z.weight",
    "linear_attn.in_proj_qkvz.weight",
    "linear_attn.out_proj.weight",
    "mlp.gate_proj.weight",
    "mlp.up_proj.weight",
    "mlp.down_proj.weight",
    "mlp.shared_expert.gate_proj.weight",
    "mlp.shared_expert.up_proj.weight",
    "mlp.shared_expert.down_proj.weight",
    "mlp.experts.gate_up_proj",
};
constexpr std::array<std::string_view, 4> kExpertMatrices = {"gate_proj.weight", "up_proj.weight",
                                                             "down_proj.weight", "down_proj"};

// What stands behind the number at the start of `text` and its point; empty if there is none.
std::string_view after_number(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits > 0 && digits < text.size() && text[digits] == '.' ? text.substr(digits + 1)
                                                                   : std::string_view();
}

bool is_layer_matrix(std::string_view part) {
  constexpr std::string_view kExperts = "mlp.experts.";
  if (std::ranges::find(kMatrices, part) != kMatrices.end()) {
    return true;
  }
  if (!part.starts_with(kExperts)) {
    return false;
  }
  const std::string_view local = part.substr(kExperts.size());
  const std::string_view numbered = after_number(local);
  return std::ranges::find(kExpertMatrices, numbered.empty() ? local : numbered) !=
         kExpertMatrices.end();
}

std::string replace_weight(std::string_view name, std::string_view ending) {
  if (name.ends_with(kWeight)) {
    name.remove_suffix(kWeight.size());
  }
  return std::string(name) + std::string(ending);
}

}  // namespace

Result<QuantizationConfig> parse_quantization(std::string_view name) {
  if (name == "int8") {
    return QuantizationConfig{.bits = 8, .head_bits = 8};
  }
  if (name == "int4") {
    return QuantizationConfig{.bits = 4, .head_bits = 8};
  }
  return invalid(fmt::format("\"{}\" is no quantisation: int8 and int4 are", name), "quantization");
}

std::string_view quantization_name(const QuantizationConfig& config) {
  return config.bits == 4 ? "int4" : "int8";
}

int32_t quantized_bits(std::string_view name, const QuantizationConfig& config) {
  if (name == kHead) {
    return config.head_bits;
  }
  const bool is_text =
      name.starts_with("model.layers.") || name.starts_with("model.language_model.layers.");
  if (!is_text) {
    return 0;
  }
  const size_t layer = name.find(kLayers) + kLayers.size();
  return is_layer_matrix(after_number(name.substr(layer))) ? config.bits : 0;
}

std::string codes_name(std::string_view name) {
  return replace_weight(name, ".qweight");
}

std::string scales_name(std::string_view name) {
  return replace_weight(name, ".scales");
}

json::Object quantization_json(const QuantizationConfig& config) {
  return {{"quant_method", kQuantMethod},
          {"format_version", kFormatVersion},
          {"bits", config.bits},
          {"group_size", quantization_group(config.bits)},
          {"head_bits", config.head_bits}};
}

QuantizationConfig read_quantization(ConfigReader& block) {
  QuantizationConfig config;
  if (const int64_t version = block.integer("format_version", 0, INT32_MAX);
      !block.failed() && version != kFormatVersion) {
    block.refuse("format_version",
                 fmt::format("is {}; this version reads {}", version, kFormatVersion));
  }
  config.bits = block.integer32("bits", 4, 8);
  config.head_bits = block.integer32("head_bits", 0, 8);
  if (!block.failed() && config.bits != 4 && config.bits != 8) {
    block.refuse("bits", fmt::format("is {}; 4 and 8 are supported", config.bits));
  }
  if (!block.failed() && config.head_bits != 0 && config.head_bits != 8) {
    block.refuse("head_bits", fmt::format("is {}; 0 and 8 are supported", config.head_bits));
  }
  const int32_t group = block.integer32("group_size", 1, 1 << 20);
  if (!block.failed() && group != quantization_group(config.bits)) {
    block.refuse("group_size", fmt::format("is {}; {} bits come in groups of {}", group,
                                           config.bits, quantization_group(config.bits)));
  }
  return config;
}

}  // namespace deltaserve
