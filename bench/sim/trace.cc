// Prompts and answers out of the pieces of a trace.
#include "trace.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {
namespace {

const std::vector<TokenRun>& runs_in_prompt(const TracePiece& piece, bool behind_query) {
  const bool keeps_all = piece.kind != TracePiece::Kind::kAssistant || behind_query;
  return keeps_all ? piece.runs : piece.short_runs;
}

// The first `count` tokens of runs.
std::vector<TokenRun> head_of(std::span<const TokenRun> runs, int64_t count) {
  std::vector<TokenRun> head;
  for (const TokenRun& run : runs) {
    if (count == 0) break;
    head.push_back({.seed = run.seed, .count = std::min(run.count, count)});
    count -= head.back().count;
  }
  return head;
}

uint64_t mix(uint64_t x) {  // SplitMix64's finaliser
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

}  // namespace

std::vector<TokenRun> prompt_runs(const Trace& trace, const TraceRequest& request) {
  std::vector<TokenRun> all;
  for (size_t i = 0; i < request.pieces.size(); ++i) {
    const TracePiece& piece = trace.pieces[static_cast<size_t>(request.pieces[i])];
    const auto& runs = runs_in_prompt(piece, static_cast<int32_t>(i) > request.last_query);
    all.insert(all.end(), runs.begin(), runs.end());
  }
  const TracePiece& reply = trace.pieces[static_cast<size_t>(request.reply)];
  const std::vector<TokenRun> header = head_of(reply.runs, reply.header_len);
  all.insert(all.end(), header.begin(), header.end());
  return all;
}

std::vector<TokenRun> output_runs(const Trace& trace, const TraceRequest& request) {
  const TracePiece& reply = trace.pieces[static_cast<size_t>(request.reply)];
  const int64_t end = count_tokens(reply.runs) - 1;  // the newline behind it is the template's
  std::vector<TokenRun> runs;
  int64_t skip = reply.header_len;
  for (const TokenRun& run : head_of(reply.runs, end)) {
    const int64_t skipped = std::min(skip, run.count);
    skip -= skipped;
    if (skipped == run.count) continue;
    DS_CHECK(skipped == 0, "the generation header is made of whole runs");
    runs.push_back(run);
  }
  return runs;
}

std::vector<int64_t> message_borders(const Trace& trace, const TraceRequest& request) {
  using Kind = TracePiece::Kind;
  std::vector<int64_t> borders;
  int64_t position = 0;
  Kind before = Kind::kTools;
  for (size_t i = 0; i < request.pieces.size(); ++i) {
    const TracePiece& piece = trace.pieces[static_cast<size_t>(request.pieces[i])];
    const bool joins =
        piece.kind == Kind::kSystem || (piece.kind == Kind::kTool && before == Kind::kTool);
    if (i == 0 || !joins) borders.push_back(position);
    position += count_tokens(runs_in_prompt(piece, static_cast<int32_t>(i) > request.last_query));
    before = piece.kind;
  }
  borders.push_back(position);
  return borders;
}

int64_t count_tokens(std::span<const TokenRun> runs) {
  int64_t count = 0;
  for (const TokenRun& run : runs) count += run.count;
  return count;
}

std::vector<int32_t> to_tokens(std::span<const TokenRun> runs, int32_t vocab_size) {
  std::vector<int32_t> tokens;
  tokens.reserve(static_cast<size_t>(count_tokens(runs)));
  for (const TokenRun& run : runs) {
    const uint64_t seed = mix(static_cast<uint64_t>(run.seed) + 0x9E3779B97F4A7C15U);
    for (int64_t i = 0; i < run.count; ++i) {
      const uint64_t drawn = mix(seed + static_cast<uint64_t>(i) * 0xD1B54A32D192ED03U);
      tokens.push_back(static_cast<int32_t>(drawn % static_cast<uint64_t>(vocab_size)));
    }
  }
  return tokens;
}

}  // namespace deltaserve
