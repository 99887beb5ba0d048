// Counting of bytes and operations of one step.
#include "app/cost_model.h"

#include <cmath>

namespace deltaserve {

namespace {

// Elements of all matrices of a layer's mixer, either kind.
double linear_attention_weights(const ModelConfig& config) {
  const double value = static_cast<double>(config.linear_num_value_heads) *
                       static_cast<double>(config.linear_value_head_dim);
  const double rows =
      static_cast<double>(config.conv_channels()) + value + 2.0 * config.linear_num_value_heads;
  return static_cast<double>(config.hidden_size) * (rows + value);
}

double full_attention_weights(const ModelConfig& config) {
  const double heads = static_cast<double>(config.num_attention_heads) * config.head_dim;
  const double kv_heads = static_cast<double>(config.num_key_value_heads) * config.head_dim;
  return static_cast<double>(config.hidden_size) * (3.0 * heads + 2.0 * kv_heads);
}

// Experts that `tokens` draws of K out of E hit when every expert is equally likely.
double experts_hit(const MoeConfig& moe, double tokens) {
  const double miss = 1.0 - static_cast<double>(moe.num_experts_per_tok) / moe.num_experts;
  return moe.num_experts * (1.0 - std::pow(miss, tokens));
}

double mixer_weights(const ModelConfig& config) {
  return config.num_linear_layers() * linear_attention_weights(config) +
         config.num_full_layers() * full_attention_weights(config);
}

double head_weights(const ModelConfig& config) {
  return static_cast<double>(config.hidden_size) * config.vocab_size;
}

struct FfnWeights {
  double read = 0.0;    // elements read in the step
  double active = 0.0;  // elements that a token multiplies with
};

FfnWeights ffn_weights(const ModelConfig& config, double tokens) {
  const double hidden = config.hidden_size;
  if (!config.moe) {
    const double all = 3.0 * hidden * config.intermediate_size;
    return {all, all};
  }
  const MoeConfig& moe = *config.moe;
  const double expert = 3.0 * hidden * moe.moe_intermediate_size;
  const double fixed =
      3.0 * hidden * moe.shared_expert_intermediate_size + hidden * (moe.num_experts + 1.0);
  return {expert * experts_hit(moe, tokens) + fixed, expert * moe.num_experts_per_tok + fixed};
}

}  // namespace

double matrix_elements(const ModelConfig& config) {
  double ffn = ffn_weights(config, 0.0).read;
  if (config.moe) {
    ffn += 3.0 * config.hidden_size * config.moe->moe_intermediate_size * config.moe->num_experts;
  }
  return mixer_weights(config) + config.num_hidden_layers * ffn + head_weights(config);
}

StepCost step_cost(const ModelConfig& config, const CostShape& shape) {
  const double seqs = static_cast<double>(shape.num_seqs);
  const double tokens = seqs * static_cast<double>(shape.tokens_per_seq);
  const double linear_layers = config.num_linear_layers();
  const double full_layers = config.num_full_layers();
  // The last layer's feed-forward network takes the rows whose logits are wanted only.
  const double last_rows = static_cast<double>(shape.logits_rows);
  const double layers = config.num_hidden_layers - 1.0;
  const FfnWeights ffn = ffn_weights(config, tokens);
  const FfnWeights last_ffn = ffn_weights(config, last_rows);
  const double mixers = mixer_weights(config);
  const double head = head_weights(config);

  const double state = static_cast<double>(config.linear_num_value_heads) *
                       config.linear_key_head_dim * config.linear_value_head_dim;
  const double kv_width = static_cast<double>(config.num_key_value_heads) * config.head_dim;
  const double context = static_cast<double>(shape.context_len + shape.tokens_per_seq);
  const double mean_context = static_cast<double>(shape.context_len) +
                              (static_cast<double>(shape.tokens_per_seq) + 1.0) / 2.0;

  StepCost cost;
  cost.bytes = shape.bytes_per_weight * (mixers + layers * ffn.read + last_ffn.read + head) +
               seqs * linear_layers * state * 2.0 * 4.0 +
               seqs * full_layers * context * 2.0 * kv_width * shape.bytes_per_kv_element;
  cost.flops = 2.0 * tokens * (mixers + layers * ffn.active) +
               2.0 * last_rows * (last_ffn.active + head) + tokens * linear_layers * 6.0 * state +
               tokens * full_layers * 4.0 * mean_context *
                   static_cast<double>(config.num_attention_heads) * config.head_dim;
  return cost;
}

}  // namespace deltaserve
