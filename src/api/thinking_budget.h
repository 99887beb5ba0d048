// The limit that a request sets on the model's thought, in the tokens of the model being served.
#pragma once

#include <cstdint>
#include <optional>

#include "api/serving_context.h"
#include "chat/output_reasoning.h"
#include "engine/sampling_params.h"

namespace deltaserve {

// The engine's form of a budget of `num_tokens` for an answer that begins at `start`: once it is
// spent, the server's message, </think> and the blank line that templates put behind it are forced.
// None for a model without thinking tags, whose answers have no thought.
std::optional<ThinkingBudget> make_thinking_budget(const ServingContext& context,
                                                   int64_t num_tokens, OutputStart start);

}  // namespace deltaserve
