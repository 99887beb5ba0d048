// Writes a checkpoint with seeded random weights, streaming: memory stays at a few MiB a thread
// whatever the model's size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "json/json.h"
#include "model/model.h"
#include "model/presets.h"

namespace deltaserve {

struct RandomWeightsOptions {
  std::filesystem::path directory;  // made if absent; must not hold a checkpoint
  uint64_t seed = 0;
  int64_t max_shard_bytes = int64_t{4} << 30;
  int32_t threads = 0;  // 0: the machine's
};

struct RandomWeightsSummary {
  int64_t num_parameters = 0;
  int64_t num_bytes = 0;
  int32_t num_files = 0;
};

// Writes the weights that `config` describes, and config.json last, so that an interrupted run
// leaves no directory that would load. Errors: a config that is not supported, a directory in use,
// a disk that is too small.
Result<RandomWeightsSummary> write_random_weights(const json::Object& config,
                                                  const RandomWeightsOptions& options,
                                                  const ProgressCallback& on_progress = {});

// The same for a released shape, with a synthetic tokenizer. Errors also: an unknown preset.
Result<RandomWeightsSummary> write_preset(std::string_view preset, const PresetOptions& shape,
                                          const RandomWeightsOptions& options,
                                          const ProgressCallback& on_progress = {});

}  // namespace deltaserve
