// A parsed and validated generation request: what the engine runs, and how the answer is to look.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/output_parser.h"
#include "engine/request.h"

namespace deltaserve {

class ResponseFormat;
struct ResponseOptions;

// Makes the writer of one answer; both arguments outlive it. A protocol puts what only its own
// writer needs into the closure.
using ResponseFormatFactory = std::function<std::unique_ptr<ResponseFormat>(
    const Tokenizer& tokenizer, const ResponseOptions& options)>;

struct ResponseOptions {
  ResponseFormatFactory make_format;  // of the protocol that the request came by
  std::string id;                     // "chatcmpl-..." or "cmpl-...", the same in all chunks
  std::string request_id;             // X-Request-Id
  std::string model;                  // the name that the client asked for
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

  // How the model's text divides into reasoning, content and calls; none: all of it is content.
  std::optional<OutputOptions> output;
  bool parallel_tool_calls = true;  // else a choice ends with its first call
  bool hide_tool_calls = false;     // calls are dropped: the request forbids them
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
  std::string remark;             // for the log, "" for none
};

}  // namespace deltaserve
