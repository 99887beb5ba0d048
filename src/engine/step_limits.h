// The largest step that an engine under these options runs: what the model reserves workspace for.
#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "engine/scheduler.h"
#include "model/vision_tower.h"

namespace deltaserve {

// Of the default for encoder_cache_tokens: two of the largest pictures that are usual. At 5120 wide
// their embeddings take 640 MiB.
inline constexpr int64_t kDefaultEncoderTokens = 32768;

// With a `tower` there is room for pictures.
StepLimits step_limits(const EngineOptions& options, int64_t max_model_len,
                       const VisionTower* tower = nullptr);

}  // namespace deltaserve
