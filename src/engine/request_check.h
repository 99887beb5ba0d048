// Whether a request can be run at all, decided before it is queued.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "engine/request.h"

namespace deltaserve {

struct RequestLimits {
  int64_t max_model_len = 0;
  int64_t vocab_size = 0;  // tokens that may be drawn
  int64_t max_choices = 0;
};

// Errors name the OpenAI field; a prompt or max_tokens that is too long has api_code
// context_length_exceeded.
Result<void> check_request(const Request& request, const RequestLimits& limits);

}  // namespace deltaserve
