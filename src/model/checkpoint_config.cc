// Which names the tensors have is told by the table of embeddings.
#include "model/checkpoint_config.h"

#include <string>
#include <string_view>

namespace deltaserve {

namespace {
constexpr std::string_view kWrapperPrefix = "model.language_model.";
constexpr std::string_view kTable = "embed_tokens.weight";
}  // namespace

Result<ModelConfig> read_model_config(const Checkpoint& checkpoint) {
  Result<ModelConfig> config = parse_model_config(checkpoint.config());
  if (!config || config->fused_qkvz) {
    return config;
  }
  const auto has_table = [&](std::string_view prefix) {
    return checkpoint.find(std::string(prefix) + std::string(kTable)) != nullptr;
  };
  if (!has_table(config->weight_prefix) && has_table(kWrapperPrefix)) {
    config->weight_prefix = kWrapperPrefix;
  }
  return config;
}

}  // namespace deltaserve
