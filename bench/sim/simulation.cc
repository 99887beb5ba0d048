// Plans memory as the server does, builds the engine's core and plays the trace.
#include "simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "engine/engine_core.h"
#include "model/presets.h"
#include "report.h"
#include "sizes_model.h"

namespace deltaserve {
namespace {

constexpr int64_t kHashSeed = 1;  // the server's is random; here runs are to be equal

Result<ModelConfig> config_of(const std::string& preset) {
  const Result<json::Object> object = preset_config(preset, {});
  if (!object) return std::unexpected(object.error());
  return parse_model_config(*object);
}

// What a server on this GPU would be started with: snapshots and KV share what is left.
EngineOptions engine_options(const SimulationOptions& options, const SizesModel& model,
                             int64_t free_memory) {
  EngineOptions engine;
  engine.max_num_seqs = options.max_num_seqs;
  engine.max_num_batched_tokens = options.max_num_batched_tokens;
  engine.long_prefill_token_threshold = options.long_prefill_token_threshold;
  engine.memory_utilization = options.memory_utilization;
  engine.inter_token_target_seconds = options.inter_token_target;
  engine.enable_prefix_caching = options.prefix_cache;
  engine.max_model_len = options.replay.max_model_len;
  const StepLimits limits{.max_tokens = options.max_num_batched_tokens,
                          .max_seqs = options.max_num_seqs,
                          .max_model_len = options.replay.max_model_len,
                          .max_logits_rows = options.max_num_seqs + kMaxPromptLogprobRows};
  const int64_t states = options.max_num_seqs * model.memory().state_slot_bytes;
  const int64_t left =
      static_cast<int64_t>(options.memory_utilization * static_cast<double>(free_memory)) -
      model.workspace_bytes(limits) - states;
  const double share = options.prefix_cache ? options.snapshot_share : 0.0;
  engine.prefix_cache_memory_bytes =
      static_cast<int64_t>(share * static_cast<double>(std::max<int64_t>(0, left)));
  engine.kv_cache_memory_bytes = std::max<int64_t>(1, left - engine.prefix_cache_memory_bytes);
  return engine;
}

CoreOptions core_options(const EngineOptions& engine, const MemoryPlan& plan,
                         const SizesModel& model, int32_t vocab_size) {
  CoreOptions core;
  core.num_blocks = static_cast<int32_t>(plan.num_blocks);
  core.num_state_slots = static_cast<int32_t>(plan.num_state_slots);
  core.num_snapshots = static_cast<int32_t>(plan.num_snapshots);
  core.state_slot_bytes = model.memory().state_slot_bytes;
  core.vocab_size = vocab_size;
  core.scheduler = {.max_num_seqs = engine.max_num_seqs,
                    .max_num_batched_tokens = engine.max_num_batched_tokens,
                    .long_prefill_token_threshold = engine.long_prefill_token_threshold};
  core.inter_token_target_seconds = engine.inter_token_target_seconds;
  core.prefix_cache = {.enabled = engine.enable_prefix_caching,
                       .reuse_answers = engine.prefix_cache_answers,
                       .snapshot_interval = plan.snapshot_interval,
                       .hash_seed = kHashSeed};
  return core;
}

std::string describe(const SimulationOptions& options, const MemoryPlan& plan,
                     const ModelMemory& memory) {
  constexpr double kGb = 1e9;
  return fmt::format(
      "{}: weights {:.1f} GB, {} states of {:.1f} MB, {} snapshots ({:.1f} GB), KV of {} tokens "
      "({:.1f} GB), snapshots every {} chunks, budget {} tokens\n",
      options.preset, static_cast<double>(memory.weight_bytes) / kGb, plan.num_state_slots,
      static_cast<double>(memory.state_slot_bytes) / 1e6, plan.num_snapshots,
      static_cast<double>(plan.snapshot_bytes) / kGb, plan.num_blocks * kBlockSize,
      static_cast<double>(plan.kv_bytes) / kGb, plan.snapshot_interval,
      options.max_num_batched_tokens);
}

}  // namespace

Result<SimulationResult> simulate(const Trace& trace, const SimulationOptions& options) {
  const Result<ModelConfig> config = config_of(options.preset);
  if (!config) return std::unexpected(config.error());
  const GpuCost cost(*config, options.rates);
  const SizesModel model(*config, cost);
  const int64_t free_memory =
      static_cast<int64_t>(options.rates.memory_bytes) - cost.weight_bytes();
  const EngineOptions engine = engine_options(options, model, free_memory);
  const Result<MemoryPlan> plan =
      plan_memory(model, static_cast<size_t>(std::max<int64_t>(0, free_memory)), engine);
  if (!plan) return std::unexpected(plan.error());

  SimRunner runner(cost);
  CoreOptions core_of_engine = core_options(engine, *plan, model, config->vocab_size);
  core_of_engine.clock = [&runner] {
    const std::chrono::duration<double> busy(runner.busy_seconds());
    return RequestTimes::Clock::time_point(
        std::chrono::duration_cast<RequestTimes::Clock::duration>(busy));
  };
  EngineCore core(core_of_engine, runner);
  ReplayOptions replay = options.replay;
  replay.vocab_size = config->vocab_size;
  replay.max_model_len = plan->max_model_len;
  Replayer replayer(trace, replay, core, runner);
  replayer.run(options.check_every);
  std::string text = describe(options, *plan, model.memory());
  text += report(trace, replayer, core.stats());
  return SimulationResult{.text = std::move(text), .num_steps = replayer.num_steps()};
}

}  // namespace deltaserve
