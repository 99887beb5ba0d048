// A trace of agent requests as bench/replay writes it (JSON lines), at token level: prompts and
// answers are runs of tokens, (seed, count), that one function turns into token ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace deltaserve {

struct TokenRun {
  int64_t seed = 0;
  int64_t count = 0;
};

// A message or a list of tools as it stands in prompts. The kinds differ in where they begin a
// message for the chat template: tools and systems are one, and so are neighbouring tool results.
struct TracePiece {
  enum class Kind : uint8_t { kTools, kSystem, kUser, kAssistant, kTool };
  Kind kind = Kind::kUser;
  std::vector<TokenRun> runs{};
  std::vector<TokenRun> short_runs{};  // of assistants: without reasoning
  int64_t header_len = 0;              // of assistants: tokens of the generation header in front
};

struct TraceRequest {
  int64_t session = 0;
  std::string kind;
  double at = 0.0;                // seconds; of a session's first request
  double pause = 0.0;             // seconds after the last of `after`
  std::vector<int32_t> after;     // requests
  std::vector<int32_t> pieces;    // of the trace, in order
  int32_t last_query = 0;         // index in `pieces`: reasoning before it is left out
  int32_t reply = 0;              // piece that the answer becomes
  int64_t num_prompt_tokens = 0;  // as the trace says; checked at reading
  int64_t num_output_tokens = 0;
};

struct Trace {
  std::vector<TracePiece> pieces;
  std::vector<TraceRequest> requests;
};

// Errors name the line.
Result<Trace> read_trace(const std::filesystem::path& path);

std::vector<TokenRun> prompt_runs(const Trace& trace, const TraceRequest& request);
std::vector<TokenRun> output_runs(const Trace& trace, const TraceRequest& request);

// Where messages begin in the prompt, the generation header last.
std::vector<int64_t> message_borders(const Trace& trace, const TraceRequest& request);

int64_t count_tokens(std::span<const TokenRun> runs);
std::vector<int32_t> to_tokens(std::span<const TokenRun> runs, int32_t vocab_size);

}  // namespace deltaserve
