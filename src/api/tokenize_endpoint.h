// POST /tokenize and /detokenize, with vLLM's fields.
#pragma once

#include <string>

#include "api/serving_context.h"
#include "json/json.h"

namespace deltaserve {

// {"count","max_model_len","tokens","token_strs"} of `prompt` (text) or of `messages` with the chat
// template's fields. token_strs is null unless return_token_strs is true.
Result<std::string> tokenize_body(const ServingContext& context, const json::Object& body);

// {"prompt"} of `tokens`, special tokens included.
Result<std::string> detokenize_body(const ServingContext& context, const json::Object& body);

}  // namespace deltaserve
