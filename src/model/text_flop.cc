// Two operations a weight that a token meets.
#include "model/text_flop.h"

#include "model/workspace.h"

namespace deltaserve {

double text_flop_per_token(const ModelConfig& config) {
  const double H = config.hidden_size;
  const double values = static_cast<double>(config.linear_num_value_heads) *
                        static_cast<double>(config.linear_value_head_dim);
  const double heads =
      static_cast<double>(config.num_attention_heads) * static_cast<double>(config.head_dim);
  const double linear = H * (static_cast<double>(linear_projection_width(config)) + values);
  const double full = H * (static_cast<double>(full_projection_width(config)) + heads);
  double inner = config.intermediate_size;
  if (config.moe) {
    inner = static_cast<double>(config.moe->num_experts_per_tok) *
                static_cast<double>(config.moe->moe_intermediate_size) +
            config.moe->shared_expert_intermediate_size;
  }
  return 2.0 * (config.num_linear_layers() * linear + config.num_full_layers() * full +
                config.num_hidden_layers * 3.0 * H * inner);
}

}  // namespace deltaserve
