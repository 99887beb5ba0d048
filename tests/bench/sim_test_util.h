// Traces for the tests of the simulator, as files and in memory.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "trace.h"

namespace deltaserve {

// A file that is gone at the end of the test.
class TraceFile {
 public:
  explicit TraceFile(const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) / "deltaserve_sim_trace.jsonl") {
    std::ofstream(path_) << text;
  }
  ~TraceFile() { std::filesystem::remove(path_); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// One conversation of `turns` tool steps, each after the one before it: a system prompt of 1,000
// tokens, then per turn an answer of 40 tokens and a result of `growth` tokens.
inline void add_session(Trace& trace, int64_t session, int turns, int64_t growth) {
  using Kind = TracePiece::Kind;
  const auto add = [&](TracePiece piece) {
    trace.pieces.push_back(std::move(piece));
    return static_cast<int32_t>(trace.pieces.size()) - 1;
  };
  int64_t seed = 100'000 * (session + 1);
  std::vector<int32_t> prompt{add({.kind = Kind::kTools, .runs = {{.seed = 1, .count = 1000}}}),
                              add({.kind = Kind::kUser, .runs = {{.seed = ++seed, .count = 50}}})};
  int32_t before = -1;
  for (int turn = 0; turn < turns; ++turn) {
    const std::vector<TokenRun> answer{
        {.seed = 2, .count = 5}, {.seed = ++seed, .count = 39}, {.seed = 3, .count = 2}};
    const int32_t reply =
        add({.kind = Kind::kAssistant, .runs = answer, .short_runs = answer, .header_len = 5});
    TraceRequest request;
    request.session = session;
    request.kind = turn == 0 ? "first" : "step";
    request.pause = 0.5;
    if (before >= 0) request.after = {before};
    request.pieces = prompt;
    request.last_query = 1;
    request.reply = reply;
    request.num_prompt_tokens = count_tokens(prompt_runs(trace, request));
    request.num_output_tokens = count_tokens(output_runs(trace, request));
    trace.requests.push_back(request);
    before = static_cast<int32_t>(trace.requests.size()) - 1;
    prompt.push_back(reply);
    prompt.push_back(add({.kind = Kind::kTool, .runs = {{.seed = ++seed, .count = growth}}}));
  }
}

}  // namespace deltaserve
