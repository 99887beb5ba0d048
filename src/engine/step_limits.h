// The largest step that an engine under these options runs: what the model reserves workspace for.
#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "engine/scheduler.h"

namespace deltaserve {

StepLimits step_limits(const EngineOptions& options, int64_t max_model_len);

}  // namespace deltaserve
