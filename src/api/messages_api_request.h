// POST /v1/messages: body to generation job, and POST /v1/messages/count_tokens.
#pragma once

#include <string>

#include "api/generation_job.h"
#include "api/serving_context.h"
#include "json/json.h"

namespace deltaserve::messages_api {

// Errors: kInvalidArgument with the field's name in the message and `param`, kNotFound for an
// unknown model. A prompt or answer that does not fit the context is refused in the words that
// agents look for: they shorten the conversation, or ask for fewer tokens, by the numbers in them.
Result<GenerationJob> parse_request(const ServingContext& context, const json::Object& body);

// {"input_tokens":N}: the prompt tokens of the same request to /v1/messages. Needs no max_tokens;
// the prompt may be longer than the context.
Result<std::string> count_tokens(const ServingContext& context, const json::Object& body);

}  // namespace deltaserve::messages_api
