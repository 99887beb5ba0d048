// Text of the memory plan and of the model summary.
#include "app/memory_report.h"

#include <fmt/format.h>

#include "app/cli_options.h"

namespace deltaserve {

std::string describe_memory_plan(const MemoryPlan& plan, const EngineOptions& options) {
  const std::string swap = plan.swap_bytes == 0
                               ? std::string()
                               : fmt::format("  {:<18} {} of host memory\n", "swap space",
                                             format_bytes(plan.swap_bytes));
  return fmt::format(
      "  {:<18} {}\n  {:<18} {}\n  {:<18} {} ({} tokens in {} blocks)\n"
      "  {:<18} {} ({} sequences)\n  {:<18} {} ({}, for the prefix cache)\n{}  {:<18} {} tokens\n",
      "weights", format_bytes(plan.weight_bytes), "workspace", format_bytes(plan.workspace_bytes),
      "KV cache", format_bytes(plan.kv_bytes), plan.num_blocks * kBlockSize, plan.num_blocks,
      "recurrent states", format_bytes(plan.state_bytes), options.max_num_seqs, "state snapshots",
      format_bytes(plan.snapshot_bytes), plan.num_snapshots, swap, "max model length",
      plan.max_model_len);
}

std::string describe_model(const ModelConfig& config, const Tokenizer& tokenizer) {
  const std::string ffn =
      config.moe ? fmt::format("{} experts, {} per token, width {}", config.moe->num_experts,
                               config.moe->num_experts_per_tok, config.moe->moe_intermediate_size)
                 : fmt::format("dense, width {}", config.intermediate_size);
  return fmt::format(
      "  {:<18} {}\n  {:<18} {} linear + {} full attention, hidden {}\n"
      "  {:<18} {}\n  {:<18} {} tokens ({} rows)\n",
      "architecture", config.architecture, "layers", config.num_linear_layers(),
      config.num_full_layers(), config.hidden_size, "feed-forward", ffn, "vocabulary",
      tokenizer.vocab_size(), config.vocab_size);
}

}  // namespace deltaserve
