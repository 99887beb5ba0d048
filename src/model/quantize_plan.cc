// The rule by names (model/quantization.h) over all tensors of a checkpoint.
#include "model/quantize_plan.h"

#include <fmt/format.h>

#include <utility>

namespace deltaserve {

std::vector<TensorSpec> Conversion::outputs() const {
  if (bits == 0) {
    return {{.name = name, .dtype = source.dtype, .shape = source.shape}};
  }
  TensorSpec codes{.name = codes_name(name),
                   .dtype = bits == 8 ? DType::kI8 : DType::kU8,
                   .shape = source.shape};
  codes.shape.back() = columns() * bits / 8;
  TensorSpec scales{.name = scales_name(name), .dtype = DType::kBF16, .shape = source.shape};
  scales.shape.back() = groups();
  return {std::move(codes), std::move(scales)};
}

Result<std::vector<Conversion>> plan_conversions(const Checkpoint& source,
                                                 const ModelConfig& config,
                                                 const QuantizationConfig& quantization) {
  std::vector<Conversion> conversions;
  const auto add = [&](const std::string& name, const TensorView& view) -> Result<void> {
    const int32_t bits = quantized_bits(name, quantization);
    if (bits != 0) {
      if (Result<void> checked = check_quantizable(view, bits); !checked) {
        return invalid(fmt::format("tensor \"{}\" {}", name, checked.error().message), name);
      }
    }
    conversions.push_back({.name = name, .source = view, .bits = bits});
    return {};
  };
  for (const std::string& name : source.names()) {
    if (Result<void> added = add(name, *source.find(name)); !added) {
      return std::unexpected(std::move(added.error()));
    }
  }
  // A tied head has no tensor of its own; a quantised one does.
  const std::string head = "lm_head.weight";
  const std::string table = config.weight_prefix + "embed_tokens.weight";
  if (config.tie_word_embeddings && quantization.head_bits != 0 && source.find(head) == nullptr) {
    const TensorView* view = source.find(table);
    if (view == nullptr) {
      return invalid(fmt::format("the checkpoint has no tensor \"{}\"", table), table);
    }
    if (Result<void> added = add(head, *view); !added) {
      return std::unexpected(std::move(added.error()));
    }
  }
  return conversions;
}

std::vector<std::vector<Conversion>> plan_quantized_shards(std::vector<Conversion> conversions,
                                                           int64_t max_bytes) {
  std::vector<std::vector<Conversion>> shards;
  int64_t used = 0;
  for (Conversion& conversion : conversions) {
    const int64_t bytes = conversion.output_bytes();
    if (shards.empty() || used + bytes > max_bytes) {
      shards.emplace_back();
      used = 0;
    }
    used += bytes;
    shards.back().push_back(std::move(conversion));
  }
  return shards;
}

}  // namespace deltaserve
