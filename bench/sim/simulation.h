// One simulated replay from options to report: what bench_sim runs and the tests compare.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "gpu_cost.h"
#include "replayer.h"
#include "trace.h"

namespace deltaserve {

struct SimulationOptions {
  std::string preset = "qwen3.5-27b";
  GpuRates rates;
  ReplayOptions replay;
  int64_t max_num_seqs = 64;
  int64_t max_num_batched_tokens = 4096;
  int64_t long_prefill_token_threshold = 0;
  double inter_token_target = 0.0;  // seconds; 0: none
  double memory_utilization = 0.9;
  bool prefix_cache = true;
  double snapshot_share = 0.35;  // of the memory that weights, workspace and states leave
  int64_t check_every = 0;       // steps between checks of the engine's invariants; 0: none
};

struct SimulationResult {
  std::string text;
  int64_t num_steps = 0;
};

// Errors: an unknown preset, options that the memory plan refuses. Throws std::logic_error if an
// invariant of the engine does not hold.
Result<SimulationResult> simulate(const Trace& trace, const SimulationOptions& options);

}  // namespace deltaserve
