// Whole simulated replays: the same twice over, every request in its order and answered, hits where
// conversations go on, invariants throughout.
#include <gtest/gtest.h>

#include "sim_test_util.h"
#include "simulation.h"

namespace deltaserve {
namespace {

SimulationOptions options() {
  SimulationOptions o;
  o.replay.max_model_len = 32'768;
  o.max_num_seqs = 8;
  o.max_num_batched_tokens = 2048;
  o.check_every = 10;
  return o;
}

Trace sessions(int64_t count, int turns, int64_t growth) {
  Trace trace;
  for (int64_t i = 0; i < count; ++i) add_session(trace, i, turns, growth);
  return trace;
}

// The number behind `name` in a report.
double figure(const std::string& text, const std::string& name) {
  const size_t at = text.find(name);
  EXPECT_NE(at, std::string::npos) << name << " in\n" << text;
  return std::stod(text.substr(at + name.size()));
}

TEST(Simulation, SameArgumentsSameText) {
  const Trace trace = sessions(12, 6, 300);
  const Result<SimulationResult> once = simulate(trace, options());
  const Result<SimulationResult> twice = simulate(trace, options());
  ASSERT_TRUE(once.has_value()) << once.error().message;
  EXPECT_EQ(once->text, twice->text);
  EXPECT_GT(once->num_steps, 100);
}

TEST(Simulation, ConversationsHit) {
  const Trace trace = sessions(6, 8, 100);
  SimulationOptions o = options();
  o.replay.concurrency = 2;
  const std::string text = simulate(trace, o).value().text;
  EXPECT_EQ(figure(text, "failed "), 0.0) << text;
  EXPECT_EQ(figure(text, "refused "), 0.0) << text;
  // Turns of about 150 tokens: each begins behind the one before it.
  EXPECT_GT(figure(text, "cached "), 3.0 * figure(text, "input ")) << text;
}

TEST(Simulation, NothingIsCachedWithoutTheCache) {
  SimulationOptions o = options();
  o.prefix_cache = false;
  const std::string text = simulate(sessions(2, 3, 100), o).value().text;
  EXPECT_EQ(figure(text, "cached "), 0.0) << text;
}

TEST(Simulation, SmallMemoryPreemptsOrWaitsButAnswersAll) {
  SimulationOptions o = options();
  o.replay.concurrency = 16;
  o.replay.pace = 0.0;
  o.replay.max_model_len = 4096;
  o.rates.memory_bytes = 62.5e9;  // little beyond the weights
  o.snapshot_share = 0.3;
  const std::string text = simulate(sessions(16, 8, 300), o).value().text;
  EXPECT_EQ(figure(text, "failed "), 0.0) << text;
  EXPECT_GT(figure(text, "evicted "), 0.0) << text;
}

// A prompt of one message with an answer of some tokens, sent at a time of its own.
void add_prompt(Trace& trace, double at, int64_t prompt, int64_t output) {
  using Kind = TracePiece::Kind;
  const auto session = static_cast<int64_t>(trace.requests.size());
  const std::vector<TokenRun> answer{{.seed = 2 * session + 101, .count = output}};
  trace.pieces.push_back(
      {.kind = Kind::kUser, .runs = {{.seed = 2 * session + 100, .count = prompt}}});
  trace.pieces.push_back(
      {.kind = Kind::kAssistant, .runs = answer, .short_runs = answer, .header_len = 0});
  const auto reply = static_cast<int32_t>(trace.pieces.size()) - 1;
  TraceRequest request;
  request.session = session;
  request.kind = prompt > 10'000 ? "long" : "stream";
  request.at = at;
  request.pieces = {reply - 1};
  request.reply = reply;
  request.num_prompt_tokens = count_tokens(prompt_runs(trace, request));
  request.num_output_tokens = count_tokens(output_runs(trace, request));
  trace.requests.push_back(request);
}

TEST(Simulation, StreamsKeepTheirTargetBesideALongPrompt) {
  Trace trace;
  for (int i = 0; i < 6; ++i) add_prompt(trace, 0.0, 1000, 1500);
  add_prompt(trace, 5.0, 100'000, 20);
  SimulationOptions o = options();
  o.replay.max_model_len = 131'072;
  o.max_num_batched_tokens = 8192;
  double longest_without = 0.0;
  for (const double target : {0.0, 0.25, 0.1}) {
    o.inter_token_target = target;
    const std::string text = simulate(trace, o).value().text;
    const std::string gaps = text.substr(text.find("between tokens during"));
    const double longest = figure(gaps, "max ");  // ms
    if (target == 0.0) {
      longest_without = longest;
      continue;
    }
    EXPECT_LE(figure(gaps, "p99 "), 1000.0 * target) << text;
    EXPECT_LE(longest, 1050.0 * target) << text;
    EXPECT_GE(figure(gaps, "p50 "), 700.0 * target) << text;
  }
  EXPECT_GT(longest_without, 500.0);
}

TEST(Simulation, TooLongRequestsAreRefused) {
  SimulationOptions o = options();
  o.replay.max_model_len = 1'200;
  const std::string text = simulate(sessions(1, 4, 300), o).value().text;
  EXPECT_EQ(figure(text, "refused "), 3.0) << text;
}

TEST(Simulation, BadOptionsAreErrors) {
  SimulationOptions o = options();
  o.preset = "no-such-model";
  EXPECT_FALSE(simulate(sessions(1, 1, 10), o).has_value());
  o = options();
  o.rates.memory_bytes = 10e9;
  const Result<SimulationResult> small = simulate(sessions(1, 1, 10), o);
  ASSERT_FALSE(small.has_value());
  EXPECT_FALSE(small.error().message.empty());
}

}  // namespace
}  // namespace deltaserve
