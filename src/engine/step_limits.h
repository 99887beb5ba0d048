// The largest step that an engine under these options runs: what the model reserves workspace for.
#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "engine/scheduler.h"

namespace deltaserve {

// Sequences of a step stay within max_num_seqs; rows of logits may be kMaxPromptLogprobRows more.
StepLimits step_limits(const EngineOptions& options, int64_t max_model_len);

}  // namespace deltaserve
