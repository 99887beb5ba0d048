// Whether a request can be run at all, decided before it is queued.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "engine/request.h"
#include "engine/vision_encoder.h"
#include "model/prompt_layout.h"

namespace deltaserve {

struct RequestLimits {
  int64_t max_model_len = 0;
  int64_t vocab_size = 0;  // tokens that may be drawn
  int64_t max_choices = 0;
  PlaceholderIds placeholders = {};
  const VisionEncoder* vision = nullptr;  // null: the model takes no pictures
};

// Errors name the OpenAI field; a prompt or max_tokens that is too long has api_code
// context_length_exceeded.
Result<void> check_request(const Request& request, const RequestLimits& limits);

}  // namespace deltaserve
