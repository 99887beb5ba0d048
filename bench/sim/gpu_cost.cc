// The parts of a step.
#include "gpu_cost.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace deltaserve {
namespace {

constexpr double kWeightBytes = 2.0;  // bfloat16
constexpr double kKvBytes = 2.0;
constexpr double kConvBytes = 2.0;
constexpr double kStateBytes = 4.0;
constexpr double kSmallRows = 16.0;

double linear_mixer_weights(const ModelConfig& c) {
  const double value = static_cast<double>(c.linear_num_value_heads) * c.linear_value_head_dim;
  const double rows = c.conv_channels() + value + 2.0 * c.linear_num_value_heads;
  return c.hidden_size * (rows + value);
}

double full_mixer_weights(const ModelConfig& c) {
  const double heads = static_cast<double>(c.num_attention_heads) * c.head_dim;
  const double kv_heads = static_cast<double>(c.num_key_value_heads) * c.head_dim;
  return c.hidden_size * (3.0 * heads + 2.0 * kv_heads);
}

double chunks_of(int64_t begin, int64_t end) {
  return static_cast<double>((end + kChunkSize - 1) / kChunkSize - begin / kChunkSize);
}

}  // namespace

GpuCost::GpuCost(const ModelConfig& config, const GpuRates& rates)
    : config_(config), rates_(rates) {
  const double hidden = config.hidden_size;
  const double layers = config.num_hidden_layers;
  dense_weights_ = config.num_linear_layers() * linear_mixer_weights(config) +
                   config.num_full_layers() * full_mixer_weights(config);
  if (config.moe) {
    const MoeConfig& moe = *config.moe;
    const double shared = 3.0 * hidden * moe.shared_expert_intermediate_size;
    dense_weights_ += layers * (shared + hidden * (moe.num_experts + 1.0));
    expert_weights_ = layers * 3.0 * hidden * moe.moe_intermediate_size;
  } else {
    dense_weights_ += layers * 3.0 * hidden * config.intermediate_size;
  }
  head_weights_ = hidden * config.vocab_size;
}

double GpuCost::experts_hit(double rows) const {
  if (!config_.moe) return 0.0;
  const double miss =
      1.0 - static_cast<double>(config_.moe->num_experts_per_tok) / config_.moe->num_experts;
  return config_.moe->num_experts * (1.0 - std::pow(miss, rows));
}

double GpuCost::matrix_seconds(double rows, double logits_rows) const {
  const double large = rows > kSmallRows ? rates_.large_matrix_share : rates_.small_matrix_share;
  const double share = config_.moe ? rates_.expert_share : large;
  const double per_token = config_.moe ? config_.moe->num_experts_per_tok : 0.0;
  const double bytes = kWeightBytes * (dense_weights_ + expert_weights_ * experts_hit(rows));
  const double flops = 2.0 * rows * (dense_weights_ + expert_weights_ * per_token);
  const double rate = config_.moe ? rates_.matrix_flops_moe : rates_.matrix_flops;
  double seconds = std::max(bytes / (rates_.copy_rate * share), flops / rate);
  if (logits_rows > 0.0) {
    seconds += std::max(kWeightBytes * head_weights_ / rates_.copy_rate,
                        2.0 * logits_rows * head_weights_ / rates_.matrix_flops);
    seconds += rates_.sampling_floor + logits_rows * rates_.sampling_row;
  }
  return seconds;
}

// Sequences [begin, end) of the batch run side by side.
double GpuCost::delta_phase_seconds(const Batch& batch, int32_t begin, int32_t end) const {
  const double heads = config_.linear_num_value_heads;
  const double state = heads * config_.linear_key_head_dim * config_.linear_value_head_dim;
  double states = 0.0;  // read and written
  double longest_states = 0.0;
  double chunks = 0.0;
  double longest_chunks = 0.0;
  for (auto b = static_cast<size_t>(begin); b < static_cast<size_t>(end); ++b) {
    const int32_t rows = batch.cu_seqlens[b + 1] - batch.cu_seqlens[b];
    if (batch.recurrent[b] != 0) {
      states += rows;
      longest_states = std::max(longest_states, static_cast<double>(rows));
    } else {
      const double n = chunks_of(batch.context_lens[b], batch.context_lens[b] + rows);
      chunks += n;
      longest_chunks = std::max(longest_chunks, n);
    }
  }
  const double bytes = states * 2.0 * kStateBytes * state;
  return std::max(longest_states * rates_.delta_floor,
                  bytes / (rates_.copy_rate * rates_.delta_share)) +
         chunks * heads * rates_.prepare_head +
         std::max(longest_chunks * rates_.chain_step, chunks * heads * rates_.chunk_head);
}

double GpuCost::delta_seconds(const Batch& batch) const {
  double layer = 0.0;
  int32_t begin = 0;
  for (const int32_t end : batch.phase_ends) {
    layer += delta_phase_seconds(batch, begin, end);
    begin = end;
  }
  layer += delta_phase_seconds(batch, begin, batch.num_seqs());
  return config_.num_linear_layers() * layer;
}

double GpuCost::attention_seconds(const Batch& batch) const {
  const double kv_token = 2.0 * kKvBytes * config_.num_key_value_heads * config_.head_dim;
  const double pair = 4.0 * config_.num_attention_heads * config_.head_dim;
  double decode_bytes = 0.0;
  double prefill = 0.0;
  bool decodes = false;
  for (size_t b = 0; b < batch.state_slots.size(); ++b) {
    const double rows = batch.cu_seqlens[b + 1] - batch.cu_seqlens[b];
    const double context = batch.context_lens[b];
    const double bytes = (context + rows) * kv_token;
    if (rows == 1.0) {
      decodes = true;
      decode_bytes += bytes;
      continue;
    }
    const double pairs = rows * context + rows * (rows + 1.0) / 2.0;
    prefill += std::max(bytes / rates_.copy_rate, pairs * pair / rates_.attention_flops);
  }
  double layer = prefill;
  if (decodes) layer += std::max(rates_.attention_floor, decode_bytes / rates_.copy_rate);
  return config_.num_full_layers() * layer;
}

double GpuCost::step_seconds(const Batch& batch) const {
  const double rows = batch.num_tokens();
  const double element = config_.moe ? rates_.row_element_moe : rates_.row_element;
  const double layers = config_.num_hidden_layers;
  const double copies = static_cast<double>(batch.restores.size() + batch.snapshots.size());
  return rates_.host_step +
         layers * (rates_.layer_overhead + rows * config_.hidden_size * element) +
         matrix_seconds(rows, static_cast<double>(batch.logits_rows.size())) +
         delta_seconds(batch) + attention_seconds(batch) +
         copies * 2.0 * static_cast<double>(state_bytes()) / rates_.state_copy_rate;
}

int64_t GpuCost::weight_bytes() const {
  const double experts = config_.moe ? config_.moe->num_experts : 0.0;
  const double head = config_.tie_word_embeddings ? head_weights_ : 2.0 * head_weights_;
  return static_cast<int64_t>(kWeightBytes * (dense_weights_ + expert_weights_ * experts + head));
}

int64_t GpuCost::kv_block_bytes() const {
  return static_cast<int64_t>(config_.num_full_layers() * 2.0 * kKvBytes * kBlockSize *
                              config_.num_key_value_heads * config_.head_dim);
}

int64_t GpuCost::state_bytes() const {
  const double recurrent = kStateBytes * config_.linear_num_value_heads *
                           config_.linear_key_head_dim * config_.linear_value_head_dim;
  const double conv = kConvBytes * config_.conv_channels() * 3.0;
  return static_cast<int64_t>(config_.num_linear_layers() * (recurrent + conv));
}

}  // namespace deltaserve
