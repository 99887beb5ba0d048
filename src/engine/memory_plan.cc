// How memory is divided before the first request: workspace and states first, since without them
// nothing runs, then KV blocks up to what all sequences could use together.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cache/block_table.h"
#include "engine/engine.h"
#include "engine/step_limits.h"

namespace deltaserve {
namespace {

// KV cache taken by default at most. A CPU's free memory is shared with everything else on the
// machine; 4 GiB hold more than 100,000 tokens of every model of the family up to 35B, and who
// wants more says so with kv_cache_memory_bytes.
constexpr int64_t kDefaultMaxKvBytes = int64_t{4} << 30;

double gib(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}

Result<void> check_options(const EngineOptions& options, const ModelConfig& config) {
  if (options.max_num_seqs < 1) return invalid("max_num_seqs must be at least 1", "max_num_seqs");
  if (options.max_queue_len < 1) {
    return invalid("max_queue_len must be at least 1", "max_queue_len");
  }
  if (options.max_num_batched_tokens < kChunkSize + options.max_num_seqs) {
    return invalid(fmt::format("max_num_batched_tokens is {} and must be at least {}: a chunk of "
                               "{} prompt tokens beside one token of each of {} sequences",
                               options.max_num_batched_tokens, kChunkSize + options.max_num_seqs,
                               kChunkSize, options.max_num_seqs),
                   "max_num_batched_tokens");
  }
  if (!(options.memory_utilization > 0.0 && options.memory_utilization <= 1.0)) {
    return invalid("memory_utilization must be above 0 and at most 1", "memory_utilization");
  }
  if (options.kv_cache_memory_bytes < 0) {
    return invalid("kv_cache_memory_bytes must not be negative", "kv_cache_memory_bytes");
  }
  if (options.sampling_vocab_size < 0 || options.sampling_vocab_size > config.vocab_size) {
    return invalid(fmt::format("sampling_vocab_size must be between 0 and the model's {} tokens",
                               config.vocab_size),
                   "sampling_vocab_size");
  }
  if (options.max_model_len < 0 || options.max_model_len > config.max_position_embeddings) {
    return invalid(fmt::format("max_model_len is {}, but the model knows positions up to {}: ask "
                               "for that or less",
                               options.max_model_len, config.max_position_embeddings),
                   "max_model_len");
  }
  return {};
}

// Bytes for KV beside the workspace and the states.
Result<int64_t> plan_kv_bytes(const EngineOptions& options, int64_t free_memory, int64_t fixed) {
  const bool automatic = options.kv_cache_memory_bytes == 0;
  const auto usable =
      automatic
          ? static_cast<int64_t>(options.memory_utilization * static_cast<double>(free_memory))
          : free_memory - options.kv_cache_memory_bytes;
  if (fixed > usable) {
    return invalid(
        fmt::format("workspace and states of {} sequences take {:.2f} GiB and {:.2f} GiB "
                    "are left for them: lower max_num_seqs, max_num_batched_tokens or "
                    "kv_cache_memory_bytes",
                    options.max_num_seqs, gib(fixed), gib(std::max<int64_t>(0, usable))),
        "max_num_seqs");
  }
  if (!automatic) return options.kv_cache_memory_bytes;
  return std::min(usable - fixed, kDefaultMaxKvBytes);
}

}  // namespace

StepLimits step_limits(const EngineOptions& options, int64_t max_model_len) {
  StepLimits limits;
  limits.max_tokens = options.max_num_batched_tokens;
  limits.max_seqs = options.max_num_seqs;
  limits.max_model_len = max_model_len;
  limits.max_logits_rows = options.max_num_seqs + kMaxPromptLogprobRows;
  return limits;
}

Result<MemoryPlan> plan_memory(const Model& model, size_t free_memory,
                               const EngineOptions& options) {
  const ModelConfig& config = model.config();
  if (Result<void> checked = check_options(options, config); !checked) {
    return std::unexpected(checked.error());
  }
  const bool automatic = options.max_model_len == 0;
  const int64_t wanted = automatic ? config.max_position_embeddings : options.max_model_len;
  const ModelMemory memory = model.memory();
  MemoryPlan plan;
  plan.weight_bytes = memory.weight_bytes;
  plan.num_state_slots = options.max_num_seqs;
  plan.state_bytes = options.max_num_seqs * memory.state_slot_bytes;
  plan.workspace_bytes = model.workspace_bytes(step_limits(options, wanted));

  const Result<int64_t> kv_bytes = plan_kv_bytes(options, static_cast<int64_t>(free_memory),
                                                 plan.workspace_bytes + plan.state_bytes);
  if (!kv_bytes) return std::unexpected(kv_bytes.error());
  const int64_t affordable = memory.kv_block_bytes > 0
                                 ? *kv_bytes / memory.kv_block_bytes
                                 : int64_t{std::numeric_limits<int32_t>::max() / kBlockSize};
  const int64_t longest = affordable * kBlockSize;
  if (longest < 1 || (!automatic && longest < wanted)) {
    return invalid(fmt::format("a context of {} tokens needs {:.2f} GiB of KV cache and {:.2f} GiB "
                               "are there: the longest max_model_len that can be served is {}",
                               wanted, gib(blocks_for_tokens(wanted) * memory.kv_block_bytes),
                               gib(*kv_bytes), longest),
                   "max_model_len");
  }
  plan.max_model_len = std::min(wanted, longest);
  // Slots are counted in int32: see BatchView::slot_mapping.
  plan.num_blocks =
      std::min({affordable, options.max_num_seqs * blocks_for_tokens(plan.max_model_len),
                int64_t{std::numeric_limits<int32_t>::max() / kBlockSize}});
  plan.kv_bytes = plan.num_blocks * memory.kv_block_bytes;
  plan.workspace_bytes = model.workspace_bytes(step_limits(options, plan.max_model_len));
  return plan;
}

}  // namespace deltaserve
