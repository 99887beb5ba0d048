// The `prompt` field of /v1/completions and /tokenize.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/field_reader.h"
#include "api/serving_context.h"

namespace deltaserve {

struct RawPrompt {
  std::vector<int32_t> token_ids;
  std::string text;  // as given, or decoded from the ids
};

// A string, an array of strings, an array of token ids, or an array of such arrays. Errors: a
// missing or empty prompt, ids outside the vocabulary, too many prompts.
Result<std::vector<RawPrompt>> read_prompts(const ServingContext& context, FieldReader& fields);

// An array of token ids within the vocabulary; `param` names it in errors.
Result<std::vector<int32_t>> read_token_ids(const ServingContext& context,
                                            const json::Array& values, const std::string& param);

}  // namespace deltaserve
