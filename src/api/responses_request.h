// POST /v1/responses: body to generation job.
#pragma once

#include "api/generation_job.h"
#include "api/serving_context.h"
#include "json/json.h"

namespace deltaserve {

// Errors: kInvalidArgument with `param`, kNotFound for an unknown model.
Result<GenerationJob> parse_responses_request(const ServingContext& context,
                                              const json::Object& body);

}  // namespace deltaserve
