// What a request asks of sampling and stopping. Ranges are validated by the api before a request is
// made; fields have vLLM's names and meaning.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "grammar/grammar.h"
#include "ops/sampling.h"

namespace deltaserve {

// A limit for the thought of an answer: once it has this many tokens and is still open, the tokens
// of `closing` come instead of drawn ones. A thought that closes by itself is left alone.
struct ThinkingBudget {
  int64_t num_tokens = 0;    // >= 0
  bool open = true;          // the prompt ends inside a thought; else the first token may open one
  int32_t open_token = -1;   // <think>
  int32_t close_token = -1;  // </think>
  std::vector<int32_t> closing;  // holds close_token
};

// The answer follows a grammar, from its beginning or behind the token that ends its thought.
// Until then the answer cannot end.
struct GrammarRule {
  std::shared_ptr<Grammar> grammar;    // not null; over the engine's vocabulary
  std::optional<int32_t> after_token;  // </think>
};

struct SamplingParams {
  float temperature = 1.0F;         // [0, 2]; 0 is greedy
  float top_p = 1.0F;               // [0, 1]
  int32_t top_k = 0;                // 0: off
  float min_p = 0.0F;               // [0, 1]
  float repetition_penalty = 1.0F;  // > 0
  float frequency_penalty = 0.0F;   // [-2, 2]
  float presence_penalty = 0.0F;    // [-2, 2]
  std::optional<uint64_t> seed;     // none: drawn by the engine
  int64_t max_tokens = 0;           // >= 1
  int64_t min_tokens = 0;           // stop tokens are banned before
  bool ignore_eos = false;
  std::vector<int32_t> stop_token_ids;    // beside the model's own eos ids
  std::vector<int32_t> banned_token_ids;  // never drawn
  std::vector<LogitBias> logit_bias;
  std::optional<ThinkingBudget> thinking_budget;
  std::optional<GrammarRule> grammar;
  int32_t num_logprobs = -1;  // -1: none
  int32_t n = 1;              // choices; choice i draws with seed + i
};

}  // namespace deltaserve
