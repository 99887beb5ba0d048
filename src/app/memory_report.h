// The memory plan and the model as lines of text, for `doctor` and for the start of `serve`.
#pragma once

#include <string>

#include "engine/engine.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace deltaserve {

std::string describe_memory_plan(const MemoryPlan& plan, const EngineOptions& options);
std::string describe_model(const ModelConfig& config, const Tokenizer& tokenizer);

}  // namespace deltaserve
