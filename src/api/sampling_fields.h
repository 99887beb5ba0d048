// The sampling and stopping fields that chat and completion requests share: their types, ranges and
// defaults (the checkpoint's generation_config.json under the request's own values, as vLLM does).
#pragma once

#include <cstdint>
#include <optional>

#include "api/field_reader.h"
#include "api/generation_job.h"
#include "api/serving_context.h"

namespace deltaserve {

// Fills the sampling parameters and the options that belong to stopping. Errors stay in `fields`.
// max_tokens is left to resolve_max_tokens, logprobs to the endpoint.
void read_sampling_fields(const ServingContext& context, FieldReader& fields,
                          SamplingParams& sampling, ResponseOptions& options);

// `stream` and `stream_options`; the latter without the former is an error.
void read_stream_fields(FieldReader& fields, ResponseOptions& options);

// `model`: one of the served names, the first of them if absent. Errors: kNotFound with
// model_not_found.
void read_model_field(const ServingContext& context, FieldReader& fields, ResponseOptions& options);

// `priority`, 0 if absent; lower runs first.
int32_t read_priority(FieldReader& fields);

// Fields of other servers whose absence would change the answer: refused, not ignored.
void refuse_unsupported_fields(FieldReader& fields);

// Of one stop string: every choice has a table of that length, and holds back that much text.
inline constexpr size_t kMaxStopBytes = 4096;

// What the request calls its prompt, and the limit that was read from it.
struct LengthFields {
  std::string_view prompt;
  std::string_view limit;
};

// Sets sampling.max_tokens: the request's, or what is left of the context. Errors:
// context_length_exceeded with both numbers and the field that is too large; min_tokens above
// max_tokens.
Result<void> resolve_max_tokens(const ServingContext& context, int64_t num_prompt_tokens,
                                std::optional<int64_t> requested, const LengthFields& names,
                                SamplingParams& sampling);

}  // namespace deltaserve
