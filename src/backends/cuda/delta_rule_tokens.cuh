// The delta rule token by token: what decode and the replay of decoded tokens use everywhere, and
// prompts where the chunked kernels do not serve (float32, other head sizes, other architectures).
#pragma once

#include "backends/cuda/cuda_context.h"
#include "ops/delta_args.h"

namespace deltaserve::cuda {

enum class TokenSequences { kRecurrent, kAll };

void launch_delta_rule_tokens(const CudaContext& context, const GatedDeltaRuleArgs& args,
                              TokenSequences which);

}  // namespace deltaserve::cuda
