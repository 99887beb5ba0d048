// `deltaserve make-model`: a checkpoint of a released shape with random weights, for benchmarks.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "model/presets.h"
#include "model/random_checkpoint.h"

namespace deltaserve {

struct MakeModelCommandOptions {
  std::string preset;
  PresetOptions shape;
  RandomWeightsOptions weights;
};

// Adds PRESET, --out, --layers, --seed, --vision, --max-shard-size and --threads.
void add_make_model_options(CLI::App& command, MakeModelCommandOptions& options);

int run_make_model(const MakeModelCommandOptions& options);

}  // namespace deltaserve
