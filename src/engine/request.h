// A request as the engine takes it (immutable) and what it gives back, token by token.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cache/prefix_hash.h"
#include "engine/sampling_params.h"
#include "media/vision_item.h"

namespace deltaserve {

using RequestId = uint64_t;  // unique in the process, given by Engine::submit

struct Request {
  std::vector<int32_t> prompt_token_ids;  // at least one
  SamplingParams sampling;
  std::vector<int32_t> eos_token_ids;  // end the sequence unless ignore_eos
  int32_t priority = 0;                // lower runs first, as in vLLM
  int32_t prompt_logprobs = -1;        // -1: none. n: logprobs of prompt tokens with n alternatives
  std::string cache_salt;              // prefixes are shared among requests of equal salt only
  std::string cache_name;              // the prompt's, under which its prefix is kept; "": none
  std::string tenant;                  // whose request it is, for fair share; empty: nobody's
  // Where messages begin in the prompt, ascending; the last is the header of the answer. Later
  // requests are likely to part there, so that the prefix cache keeps states before them.
  std::vector<int64_t> cache_borders;
  std::vector<ContentKey> content_keys;  // what the prompt holds beyond its ids, by position
  // Pictures and videos in prompt order: each fills the next run of its placeholder tokens.
  std::vector<std::shared_ptr<const VisionItem>> vision_items;
};

enum class FinishReason : uint8_t { kStop, kLength, kAbort, kError };

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0.0F;
  std::vector<TopLogprob> top;  // descending
};

// What one step added to one choice of a request.
struct ChoiceOutput {
  int32_t index = 0;                   // of the choice
  std::vector<int32_t> token_ids;      // new tokens, the stop token included
  std::vector<TokenLogprob> logprobs;  // as token_ids if asked for
  std::optional<FinishReason> finish_reason;
  std::optional<int32_t> stop_token;  // the token that ended it, if one did
  std::optional<Error> error;         // with kError
};

// When a request came how far, on the monotonic clock; zero: not yet.
struct RequestTimes {
  using Clock = std::chrono::steady_clock;
  Clock::time_point submitted;
  Clock::time_point scheduled;    // first part of a step
  Clock::time_point first_token;  // of any choice
};

struct RequestOutput {
  RequestId id = 0;
  std::vector<ChoiceOutput> choices;
  int64_t num_prompt_tokens = 0;
  int64_t num_cached_tokens = 0;  // of the prompt, not computed but found in the prefix cache
  bool finished = false;          // all choices have ended; the last output of the request
  RequestTimes times;
  // [prompt length] with the first entry empty; once, with the first token of the request
  std::vector<std::optional<TokenLogprob>> prompt_logprobs;
};

}  // namespace deltaserve
