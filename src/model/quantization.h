// Which matrices of a model are quantised and how: the quantization_config block of config.json,
// and the rule by which names are chosen, the same for loading and for `deltaserve quantize`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/json.h"
#include "model/config_reader.h"

namespace deltaserve {

struct QuantizationConfig {
  int32_t bits = 8;       // of the layers' matrices: 8 or 4
  int32_t head_bits = 0;  // of lm_head; 0: as the checkpoint has it
};

// "int8" or "int4". Errors: another name.
Result<QuantizationConfig> parse_quantization(std::string_view name);
std::string_view quantization_name(const QuantizationConfig& config);

// Bits of the tensor called `name`, 0 if it is kept. Quantised are the projections of attention,
// Gated DeltaNet, feed-forward layers and experts; kept are embeddings, norms, convolutions, the
// router and all gates, the vision tower and MTP.
int32_t quantized_bits(std::string_view name, const QuantizationConfig& config);

// The two tensors that hold a quantised one: "x.weight" becomes "x.qweight" and "x.scales",
// another name gets ".qweight" and ".scales" appended.
std::string codes_name(std::string_view name);
std::string scales_name(std::string_view name);

// The block as `deltaserve quantize` writes it, and its reading once its quant_method is known to
// be this one: refused are unknown versions, bits and group sizes.
inline constexpr std::string_view kQuantMethod = "deltaserve";
json::Object quantization_json(const QuantizationConfig& config);
QuantizationConfig read_quantization(ConfigReader& block);

}  // namespace deltaserve
