// generation_config.json to SamplingParams.
#include "engine/default_sampling.h"

namespace deltaserve {

SamplingParams default_sampling(const GenerationConfig& generation) {
  SamplingParams sampling;
  if (generation.do_sample && !*generation.do_sample) {
    sampling.temperature = 0.0F;
    return sampling;
  }
  if (generation.temperature) sampling.temperature = static_cast<float>(*generation.temperature);
  if (generation.top_p) sampling.top_p = static_cast<float>(*generation.top_p);
  if (generation.top_k) sampling.top_k = static_cast<int32_t>(*generation.top_k);
  if (generation.min_p) sampling.min_p = static_cast<float>(*generation.min_p);
  if (generation.repetition_penalty) {
    sampling.repetition_penalty = static_cast<float>(*generation.repetition_penalty);
  }
  return sampling;
}

}  // namespace deltaserve
