// Sampling parameters as a checkpoint's generation_config sets them.
#pragma once

#include "engine/sampling_params.h"
#include "model/config.h"

namespace deltaserve {

SamplingParams default_sampling(const GenerationConfig& generation);

}  // namespace deltaserve
