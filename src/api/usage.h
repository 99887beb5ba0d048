// Token counts of an answer. Generated tokens count up to and with the one that ended the choice
// (eos, or the token that completed a stop string); thinking and tags are part of them.
#pragma once

#include <cstdint>
#include <string>

namespace deltaserve {

struct Usage {
  int64_t prompt_tokens = 0;  // of all prompts, each counted once whatever `n` is
  int64_t completion_tokens = 0;
  int64_t reasoning_tokens = 0;  // of those, the thoughts' own, without tags
  int64_t cached_tokens = 0;     // prompt tokens found in the prefix cache
};

// The `usage` object.
void append_usage_json(const Usage& usage, std::string& out);

}  // namespace deltaserve
