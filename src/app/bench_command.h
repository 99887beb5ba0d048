// `deltaserve bench`: prefill and decode speed of a checkpoint, beside the ceilings of the machine
// measured in the same run.
#pragma once

#include <cstdint>
#include <vector>

#include "app/cli_options.h"

namespace deltaserve {

struct BenchOptions {
  ModelOptions model;
  std::vector<int64_t> prompt_lens = {512};
  int64_t num_generate = 64;
  std::vector<int64_t> batch_sizes = {1};
  int64_t context_len = 0;  // tokens before the decoded ones; 0: the first prompt length
  int32_t repetitions = 3;
  bool random_weights = false;  // MODEL is the name of a preset
  int32_t num_layers = 0;       // of the preset, 0 for all
  bool json = false;
};

int run_bench(const BenchOptions& options);

}  // namespace deltaserve
