// Any JSON as config.json and generation_config.json: no crash, and an accepted config keeps the
// promises that later arithmetic relies on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "json/json.h"
#include "model/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = deltaserve::json::parse(text, {.max_depth = 64, .max_bytes = 1 << 20});
  if (!value) {
    return 0;
  }
  (void)deltaserve::parse_generation_config(*value);
  if (!value->is_object()) {
    return 0;
  }
  const auto config = deltaserve::parse_model_config(value->get_object());
  if (config && (config->conv_channels() <= 0 || config->rope.inv_freq.empty() ||
                 config->layer_types.size() != static_cast<size_t>(config->num_hidden_layers) ||
                 config->num_attention_heads % config->num_key_value_heads != 0 ||
                 config->rope.inv_freq.size() != config->rope.mrope_axis.size())) {
    std::abort();
  }
  if (config && config->quantization) {
    const deltaserve::QuantizationConfig& quantization = *config->quantization;
    if ((quantization.bits != 4 && quantization.bits != 8) ||
        (quantization.head_bits != 0 && quantization.head_bits != 8)) {
      std::abort();
    }
    // Any text as a tensor's name.
    if (deltaserve::quantized_bits(text, quantization) != 0 &&
        deltaserve::codes_name(text) == deltaserve::scales_name(text)) {
      std::abort();
    }
  }
  return 0;
}
