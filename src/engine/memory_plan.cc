// How memory is divided before the first request: workspace and states first, since without them
// nothing runs, then snapshots of states for the prefix cache, then KV blocks up to what all
// sequences could use together.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cache/block_table.h"
#include "cache/prefix_node.h"
#include "engine/engine.h"
#include "engine/step_limits.h"
#include "model/embedding_copies.h"
#include "model/vision_tower.h"

namespace deltaserve {
namespace {

// KV cache taken by default at most where memory is not a device's own. A CPU's free memory is
// shared with everything else on the machine; 4 GiB hold more than 100,000 tokens of every model of
// the family up to 35B, and who wants more says so with kv_cache_memory_bytes.
constexpr int64_t kDefaultMaxKvBytes = int64_t{4} << 30;

// Snapshots taken by default: at most this share of what workspace and states leave, and on a CPU
// 2 GiB: 14 states of a 27B model, some 100 of a 0.8B one.
constexpr int64_t kSnapshotShare = 4;
constexpr int64_t kDefaultMaxSnapshotBytes = int64_t{2} << 30;

// Snapshots at most by default, and in any case: beyond one a running sequence, one an idle
// conversation is what they are for.
constexpr int64_t kDefaultMaxSnapshots = 1024;
constexpr int64_t kMaxSnapshots = int64_t{1} << 20;

// The share of the snapshots that regular ones of long prompts may take if KV is full of prompts.
constexpr int64_t kIntervalShare = 2;
constexpr int64_t kMinInterval = 8;  // chunks

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
  if (options.long_prefill_token_threshold != 0 &&
      options.long_prefill_token_threshold < kChunkSize) {
    return invalid(
        fmt::format("long_prefill_token_threshold is {} and must be 0 or at least a chunk "
                    "of {} tokens",
                    options.long_prefill_token_threshold, kChunkSize),
        "long_prefill_token_threshold");
  }
  if (!(options.inter_token_target_seconds >= 0.0)) {
    return invalid("inter_token_target must not be negative", "inter_token_target");
  }
  if (options.prefix_cache_memory_bytes < -1) {
    return invalid("prefix_cache_memory_bytes must not be negative", "prefix_cache_memory_bytes");
  }
  if (options.max_frame_patches < 0 || options.encoder_cache_tokens < -1) {
    return invalid("max_frame_patches and encoder_cache_tokens must not be negative",
                   "encoder_cache_tokens");
  }
  if (options.swap_space_bytes < 0) {
    return invalid("swap_space must not be negative", "swap_space");
  }
  if (options.prefix_cache_interval < -1) {
    return invalid("prefix_cache_interval must not be negative", "prefix_cache_interval");
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

// Bytes that workspace, states, snapshots and KV may take together.
int64_t usable_memory(const EngineOptions& options, int64_t free_memory) {
  if (options.kv_cache_memory_bytes > 0) return free_memory;
  return static_cast<int64_t>(options.memory_utilization * static_cast<double>(free_memory));
}

// Snapshots for which `spare` bytes are there beside everything that is needed.
int64_t plan_snapshots(const EngineOptions& options, const ModelMemory& memory, int64_t spare) {
  const int64_t slot_bytes = memory.state_slot_bytes;
  if (!options.enable_prefix_caching) return 0;
  const bool automatic = options.prefix_cache_memory_bytes < 0;
  const int64_t most = automatic ? kDefaultMaxSnapshots : kMaxSnapshots;
  if (slot_bytes == 0) return most;  // a model without linear layers: its states are nothing
  const int64_t share = spare / kSnapshotShare;
  const int64_t bytes = !automatic          ? options.prefix_cache_memory_bytes
                        : memory.own_memory ? share
                                            : std::min(share, kDefaultMaxSnapshotBytes);
  return std::min(most, std::max<int64_t>(0, bytes) / slot_bytes);
}

int64_t plan_interval(const EngineOptions& options, const MemoryPlan& plan) {
  if (options.prefix_cache_interval >= 0) {
    return (options.prefix_cache_interval + kChunkSize - 1) / kChunkSize;
  }
  if (plan.num_snapshots == 0) return 0;
  const int64_t chunks = plan.num_blocks / kBlocksPerChunk;
  return std::max(kMinInterval, kIntervalShare * chunks / plan.num_snapshots);
}

// Bytes for KV beside what the plan has already.
Result<int64_t> plan_kv_bytes(const EngineOptions& options, int64_t free_memory, bool own_memory,
                              const MemoryPlan& plan) {
  const bool automatic = options.kv_cache_memory_bytes == 0;
  const int64_t usable =
      usable_memory(options, free_memory) - (automatic ? 0 : options.kv_cache_memory_bytes);
  const int64_t fixed = plan.workspace_bytes + plan.state_bytes;
  if (fixed > usable) {
    return invalid(
        fmt::format("workspace and states of {} sequences take {:.2f} GiB and {:.2f} GiB "
                    "are left for them: lower max_num_seqs, max_num_batched_tokens or "
                    "kv_cache_memory_bytes",
                    options.max_num_seqs, gib(fixed), gib(std::max<int64_t>(0, usable))),
        "max_num_seqs");
  }
  if (fixed + plan.snapshot_bytes > usable) {
    return invalid(fmt::format("snapshots of the prefix cache take {:.2f} GiB and {:.2f} GiB are "
                               "left for them: lower prefix_cache_memory_bytes",
                               gib(plan.snapshot_bytes), gib(usable - fixed)),
                   "prefix_cache_memory_bytes");
  }
  if (!automatic) return options.kv_cache_memory_bytes;
  const int64_t left = usable - fixed - plan.snapshot_bytes;
  return own_memory ? left : std::min(left, kDefaultMaxKvBytes);
}

}  // namespace

namespace {

// Embeddings that a prompt cannot be longer than need not be held, but the largest picture must be.
int64_t encoder_tokens(const EngineOptions& options, int64_t max_model_len,
                       const VisionConfig& vision) {
  if (options.encoder_cache_tokens >= 0) return options.encoder_cache_tokens;
  const int64_t merge = int64_t{vision.spatial_merge_size} * vision.spatial_merge_size;
  const int64_t largest = options.max_frame_patches / merge;
  return std::max(largest, std::min(max_model_len, kDefaultEncoderTokens));
}

}  // namespace

StepLimits step_limits(const EngineOptions& options, int64_t max_model_len,
                       const VisionTower* tower) {
  StepLimits limits;
  limits.max_tokens = options.max_num_batched_tokens;
  // A sequence that is cut for a snapshot stands in the batch once for each piece.
  limits.max_seqs = options.max_num_seqs + (options.enable_prefix_caching ? kMaxStepSnapshots : 0);
  limits.max_model_len = max_model_len;
  limits.max_logits_rows = options.max_num_seqs + kMaxPromptLogprobRows;
  if (tower != nullptr) {
    limits.max_frame_patches = options.max_frame_patches;
    limits.vision_pages =
        options.max_frame_patches == 0
            ? 0
            : vision_pages_for(encoder_tokens(options, max_model_len, tower->config()));
  }
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
  plan.workspace_bytes = model.workspace_bytes(step_limits(options, wanted, model.vision()));

  const auto free_bytes = static_cast<int64_t>(free_memory);
  const int64_t spare = usable_memory(options, free_bytes) - options.kv_cache_memory_bytes -
                        plan.workspace_bytes - plan.state_bytes;
  plan.num_snapshots = plan_snapshots(options, memory, spare);
  plan.snapshot_bytes = plan.num_snapshots * memory.state_slot_bytes;
  const Result<int64_t> kv_bytes = plan_kv_bytes(options, free_bytes, memory.own_memory, plan);
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
  plan.snapshot_interval = plan_interval(options, plan);
  plan.swap_bytes = options.enable_prefix_caching ? options.swap_space_bytes : 0;
  plan.workspace_bytes =
      model.workspace_bytes(step_limits(options, plan.max_model_len, model.vision()));
  return plan;
}

}  // namespace deltaserve
