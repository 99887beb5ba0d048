// The fields that only /v1/responses has: what an answer repeats of its request, and what this
// server, which keeps nothing between requests, has to refuse.
#pragma once

#include <string>

#include "api/field_reader.h"
#include "engine/sampling_params.h"

namespace deltaserve::responses_api {

struct Settings {
  bool logprobs = false;         // of the output text
  bool carry_reasoning = false;  // reasoning items have encrypted_content (responses_input.h)
  // The members of the response object that repeat the request, defaults filled in: JSON text
  // without braces, as every snapshot in a stream has them.
  std::string repeated;
};

// `defaults`: what the sampler does if the request says nothing. Errors stay in `fields`.
Settings read_settings(const SamplingParams& defaults, FieldReader& fields);

}  // namespace deltaserve::responses_api
