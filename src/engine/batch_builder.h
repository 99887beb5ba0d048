// From a plan to what the model and the sampler take: packed rows, and for each row of logits how
// to draw from it.
#pragma once

#include <vector>

#include "engine/grammar_limit.h"
#include "engine/step_plan.h"
#include "model/batch.h"
#include "ops/sampling.h"

namespace deltaserve {

struct StepInput {
  Batch batch;
  // [R], row i for batch.logits_rows[i]: for each sequence of the plan first its prompt logprobs,
  // then its new token, then those of its forks. Pointers reach into the sequences and `forced`.
  std::vector<SamplingRow> rows;
  std::vector<GrammarLimit*> masks;  // that rows point to and that have to be made before the draw
  std::vector<LogitBias> forced;     // the prompt tokens whose logprobs are wanted
  std::vector<int32_t> last_rows;    // [sequences of the plan] of each in the batch
};

// Overwrites `input`, keeping its memory. The plan's sequences hold the blocks of their new tokens.
void build_step_input(const StepPlan& plan, StepInput& input);

}  // namespace deltaserve
