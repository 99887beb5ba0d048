// Counting of bytes and operations of one step.
#include "app/cost_model.h"

#include <cmath>

#include "tensor/quantize.h"

namespace deltaserve {

namespace {

constexpr double kGateBytes = 2.0;  // gates and routers are never quantised

// Elements of all matrices of a layer's mixer but gates, either kind.
double linear_attention_weights(const ModelConfig& config) {
  const double value = static_cast<double>(config.linear_num_value_heads) *
                       static_cast<double>(config.linear_value_head_dim);
  return static_cast<double>(config.hidden_size) *
         (static_cast<double>(config.conv_channels()) + 2.0 * value);
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

// Of the last layer's mixer.
double last_output_weights(const ModelConfig& config) {
  const bool linear = config.layer_types.back() == LayerType::kLinearAttention;
  const int32_t width = linear ? config.linear_num_value_heads * config.linear_value_head_dim
                               : config.num_attention_heads * config.head_dim;
  return static_cast<double>(width) * config.hidden_size;
}

double mixer_gates(const ModelConfig& config) {
  return config.num_linear_layers() * 2.0 * config.hidden_size * config.linear_num_value_heads;
}

double head_weights(const ModelConfig& config) {
  return static_cast<double>(config.hidden_size) * config.vocab_size;
}

struct FfnWeights {
  double read = 0.0;    // elements read in the step
  double active = 0.0;  // elements that a token multiplies with
  double gates = 0.0;   // router and gate of the shared expert, beside both
};

FfnWeights ffn_weights(const ModelConfig& config, double tokens) {
  const double hidden = config.hidden_size;
  if (!config.moe) {
    const double all = 3.0 * hidden * config.intermediate_size;
    return {all, all, 0.0};
  }
  const MoeConfig& moe = *config.moe;
  const double expert = 3.0 * hidden * moe.moe_intermediate_size;
  const double shared = 3.0 * hidden * moe.shared_expert_intermediate_size;
  return {expert * experts_hit(moe, tokens) + shared, expert * moe.num_experts_per_tok + shared,
          hidden * (moe.num_experts + 1.0)};
}

}  // namespace

WeightBytes weight_bytes(const std::optional<QuantizationConfig>& quantization) {
  constexpr double kScaleBytes = 2.0;
  const auto bytes = [](int32_t bits) {
    return bits == 0 ? 2.0
                     : bits / 8.0 + kScaleBytes / static_cast<double>(quantization_group(bits));
  };
  return quantization ? WeightBytes{bytes(quantization->bits), bytes(quantization->head_bits)}
                      : WeightBytes{};
}

StepCost step_cost(const ModelConfig& config, const CostShape& shape) {
  const double seqs = static_cast<double>(shape.num_seqs);
  const double tokens = seqs * static_cast<double>(shape.tokens_per_seq);
  const double linear_layers = config.num_linear_layers();
  const double full_layers = config.num_full_layers();
  // From its output projection on the last layer takes the rows whose logits are wanted only.
  const double last_rows = static_cast<double>(shape.logits_rows);
  const double layers = config.num_hidden_layers - 1.0;
  const FfnWeights ffn = ffn_weights(config, tokens);
  const FfnWeights last_ffn = ffn_weights(config, last_rows);
  const double mixers = mixer_weights(config);
  const double last_output = last_output_weights(config);
  const double gates = mixer_gates(config);
  const double head = head_weights(config);

  const double state = static_cast<double>(config.linear_num_value_heads) *
                       config.linear_key_head_dim * config.linear_value_head_dim;
  const double kv_width = static_cast<double>(config.num_key_value_heads) * config.head_dim;
  const double context = static_cast<double>(shape.context_len + shape.tokens_per_seq);
  const double mean_context = static_cast<double>(shape.context_len) +
                              (static_cast<double>(shape.tokens_per_seq) + 1.0) / 2.0;

  StepCost cost;
  cost.bytes = shape.weight_bytes.layers * (mixers + layers * ffn.read + last_ffn.read) +
               shape.weight_bytes.head * head +
               kGateBytes * (gates + layers * ffn.gates + last_ffn.gates) +
               seqs * linear_layers * state * 2.0 * 4.0 +
               seqs * full_layers * context * 2.0 * kv_width * shape.bytes_per_kv_element;
  cost.flops = 2.0 * tokens * (mixers - last_output + gates + layers * (ffn.active + ffn.gates)) +
               2.0 * last_rows * (last_output + last_ffn.active + last_ffn.gates + head) +
               tokens * linear_layers * 6.0 * state +
               tokens * full_layers * 4.0 * mean_context *
                   static_cast<double>(config.num_attention_heads) * config.head_dim;
  return cost;
}

}  // namespace deltaserve
