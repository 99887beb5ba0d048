// What of a request concerns the prefix cache: the salt and the name that a client sets, and where
// the messages of its prompt begin.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/field_reader.h"
#include "text/tokenizer.h"

namespace deltaserve {

// `cache_salt`: prefixes are shared among requests of equal salt only; "" if absent. Errors: empty,
// or more than 1,024 bytes.
std::string read_cache_salt(FieldReader& fields);

// `prompt_cache_key`, OpenAI's name for what the prompts of a conversation or an application begin
// with; "" if absent. Errors: more than 1,024 bytes.
std::string read_cache_name(FieldReader& fields);

// Positions of the control token that begins a message, ascending; none if the vocabulary has none.
std::vector<int64_t> message_starts(const Tokenizer& tokenizer,
                                    std::span<const int32_t> prompt_token_ids);

}  // namespace deltaserve
