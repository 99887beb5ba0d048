// Errors as Anthropic's clients expect them:
// {"type":"error","error":{"type","message"},"request_id"}.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace deltaserve::messages_api {

// "invalid_request_error", "authentication_error", ...
std::string_view error_type(ErrorCode code);

// The field that an error is about is named in its message alone.
std::string error_body(const Error& error, std::string_view request_id);

}  // namespace deltaserve::messages_api
