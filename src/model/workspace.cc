// Sizes of the activation buffers.
#include "model/workspace.h"

#include <algorithm>
#include <array>
#include <utility>

namespace deltaserve {

namespace {

using Planned = std::pair<DeviceBuffer Workspace::*, int64_t>;

std::array<Planned, 16> plan(const ModelConfig& config, DType compute_dtype,
                             const StepLimits& limits) {
  const int64_t T = limits.max_tokens;
  const int64_t R = std::max(limits.max_seqs, limits.max_logits_rows);
  const int64_t x = dtype_size(compute_dtype);
  const int64_t H = config.hidden_size;
  const int64_t projected =
      row_stride(std::max(linear_projection_width(config), full_projection_width(config)));
  const int64_t core =
      std::max(int64_t{config.linear_num_value_heads} * config.linear_value_head_dim,
               int64_t{config.num_attention_heads} * config.head_dim);
  const int64_t inner =
      config.moe ? config.moe->shared_expert_intermediate_size : config.intermediate_size;
  const int64_t E = config.moe ? config.moe->num_experts : 0;
  const int64_t K = config.moe ? config.moe->num_experts_per_tok : 0;
  const int64_t moe_rows = config.moe ? T : 0;
  return {{{&Workspace::residual, T * H * 4},
           {&Workspace::normed, T * H * x},
           {&Workspace::squares, kNormSquares * 4},
           {&Workspace::delta, T * H * 4},
           {&Workspace::projected, T * projected * x},
           {&Workspace::convolved, T * row_stride(config.conv_channels()) * x},
           {&Workspace::core, T * row_stride(core) * x},
           {&Workspace::inner, T * row_stride(inner) * x},
           {&Workspace::shared, moe_rows * H * 4},
           {&Workspace::router, moe_rows * row_stride(E + 1) * 4},
           {&Workspace::expert_ids, moe_rows * K * 4},
           {&Workspace::expert_weights, moe_rows * K * 4},
           {&Workspace::last_residual, R * H * 4},
           {&Workspace::last_delta, R * H * 4},
           {&Workspace::last_normed, R * H * x},
           {&Workspace::logits, R * row_stride(config.vocab_size) * 4}}};
}

}  // namespace

int64_t linear_projection_width(const ModelConfig& config) {
  const int64_t Hv = config.linear_num_value_heads;
  return config.conv_channels() + Hv * config.linear_value_head_dim + 2 * Hv;
}

int64_t full_projection_width(const ModelConfig& config) {
  return int64_t{2} * config.head_dim * (config.num_attention_heads + config.num_key_value_heads);
}

int64_t Workspace::bytes(const ModelConfig& config, DType compute_dtype, const StepLimits& limits) {
  int64_t sum = 0;
  for (const auto& [member, bytes] : plan(config, compute_dtype, limits)) {
    sum += bytes;
  }
  return sum;
}

Result<Workspace> Workspace::allocate(const ModelConfig& config, Backend& backend,
                                      const StepLimits& limits) {
  Workspace workspace;
  for (const auto& [member, bytes] : plan(config, backend.compute_dtype(), limits)) {
    Result<DeviceBuffer> buffer = DeviceBuffer::allocate(backend, static_cast<size_t>(bytes));
    if (!buffer) {
      return std::unexpected(std::move(buffer.error()));
    }
    workspace.*member = std::move(*buffer);
  }
  return workspace;
}

}  // namespace deltaserve
