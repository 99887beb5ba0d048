// A parsed and validated generation request: what the engine runs, and how the answer is to look.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/request.h"

namespace deltaserve {

struct ResponseOptions {
  bool chat = true;   // chat.completion, or text_completion
  std::string id;     // "chatcmpl-..." or "cmpl-...", the same in all chunks
  std::string model;  // the name that the client asked for
  int64_t created = 0;
  bool stream = false;
  bool include_usage = false;     // a last chunk with usage
  bool continuous_usage = false;  // usage in every chunk as well
  bool return_token_ids = false;
  bool skip_special_tokens = true;
  bool include_stop_string = false;
  int32_t n = 1;
  int32_t num_logprobs = -1;  // -1: none
  int64_t min_tokens = 0;     // stop strings do not count before
  std::vector<std::string> stop;
  std::vector<int32_t> stop_token_ids;  // the client's own; reported as stop_reason
};

// One prompt of the request: chat has one, /v1/completions may have several.
struct PromptInfo {
  int64_t num_tokens = 0;
  std::vector<int32_t> token_ids;  // kept if the response shows them
  std::string echo;                // text put before the answer, "" without echo
};

struct GenerationJob {
  ResponseOptions options;
  std::vector<PromptInfo> prompts;
  std::vector<Request> requests;  // one a prompt, each with options.n choices
};

}  // namespace deltaserve
