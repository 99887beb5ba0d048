// One small step before the first request: kernels size their scratch for the largest step when
// they first run, so that afterwards nothing is allocated any more.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "engine/model_runner.h"

namespace deltaserve {

// Uses block 0 and state slot 0, whose content counts as nothing yet. Errors: memory is exhausted.
Result<void> warm_up(ModelRunner& runner);

}  // namespace deltaserve
