// GET /v1/models and /v1/models/{id}.
#pragma once

#include <string>
#include <string_view>

#include "api/serving_context.h"

namespace deltaserve {

std::string models_body(const ServingContext& context);

// Errors: kNotFound with model_not_found.
Result<std::string> model_body(const ServingContext& context, std::string_view id);

}  // namespace deltaserve
