// Log probabilities in the two shapes that OpenAI has for them.
#pragma once

#include <string>
#include <vector>

#include "api/choice_delta.h"
#include "text/tokenizer.h"

namespace deltaserve {

// Objects of the list below, separated by commas.
void append_logprob_objects(const Tokenizer& tokenizer, const std::vector<LogprobEntry>& entries,
                            std::string& out);

// {"content":[{"token","logprob","bytes","top_logprobs"}]}: `bytes` are exact, and empty for a
// token without text in the answer, so that all of them together are the answer's text.
void append_chat_logprobs(const Tokenizer& tokenizer, const std::vector<LogprobEntry>& entries,
                          std::string& out);

// {"tokens","token_logprobs","top_logprobs","text_offset"}; the drawn token is always among the top
// ones, as in OpenAI's API; offsets count characters.
void append_completion_logprobs(const Tokenizer& tokenizer,
                                const std::vector<LogprobEntry>& entries, std::string& out);

}  // namespace deltaserve
