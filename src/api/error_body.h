// Errors as OpenAI clients expect them: {"error":{"message","type","param","code"}}.
#pragma once

#include <string>

#include "base/error.h"

namespace deltaserve {

std::string error_body(const Error& error);

// "invalid_request_error", "authentication_error", ... for the `type` key.
std::string error_type(ErrorCode code);

}  // namespace deltaserve
