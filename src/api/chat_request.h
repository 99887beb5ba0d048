// POST /v1/chat/completions: body to generation job. Other protocols that carry conversations write
// their request as a chat body, have it parsed here, and put their own ResponseFormat, id and
// stream settings into the job's options afterwards: so all of them check, prompt, sample and parse
// the model's text alike.
#pragma once

#include "api/generation_job.h"
#include "api/serving_context.h"
#include "json/json.h"

namespace deltaserve {

// Errors: kInvalidArgument with `param`, kNotFound for an unknown model.
Result<GenerationJob> parse_chat_request(const ServingContext& context, const json::Object& body);

}  // namespace deltaserve
