// POST /v1/completions: body to generation job.
#pragma once

#include "api/generation_job.h"
#include "api/serving_context.h"
#include "json/json.h"

namespace deltaserve {

// `prompt` may be text, token ids, or an array of either; each prompt becomes one engine request.
// Special tokens written in a text prompt are control tokens: a raw prompt is the way to write
// them. Errors: kInvalidArgument with `param`, kNotFound for an unknown model.
Result<GenerationJob> parse_completion_request(const ServingContext& context,
                                               const json::Object& body);

}  // namespace deltaserve
