// A step on its way: what it computes, what the model and the sampler take, and what was drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/batch_builder.h"
#include "engine/request.h"
#include "engine/step_plan.h"
#include "ops/sampling.h"

namespace deltaserve {

struct EngineStep {
  StepPlan plan;
  bool is_planned = false;  // the plan is whole
  StepInput input;
  std::vector<SampledToken> sampled;  // as input.rows
  int64_t num_encoding = 0;           // prompt tokens that take as long as what it encoded
  RequestTimes::Clock::time_point begin;
};

}  // namespace deltaserve
