// Sampling parameters as a checkpoint's generation_config sets them: the defaults of the API and of
// the commands. `do_sample: false` is greedy.
#pragma once

#include "engine/sampling_params.h"
#include "model/config.h"

namespace deltaserve {

SamplingParams default_sampling(const GenerationConfig& generation);

}  // namespace deltaserve
