// Puts together what a chat request says about the form of its answer: a response format, tools
// that have to be called, tools with strict schemas.
#pragma once

#include <optional>

#include "api/chat_prompt.h"
#include "api/output_rule.h"
#include "engine/sampling_params.h"

namespace deltaserve {

// The grammar of the answer, beginning behind the thought if the prompt opens one; none for a free
// answer. Errors: kInvalidArgument with `param`.
Result<std::optional<GrammarRule>> make_answer_grammar(const ServingContext& context,
                                                       std::optional<OutputRule> rule,
                                                       const ChatPrompt& prompt);

}  // namespace deltaserve
