// A random trace: arrivals, lengths, n, priorities, bursts, aborts and failing steps over tiny
// pools. After every step the invariants hold; whatever finishes has the text of an isolated run
// without a cache; whatever is accepted comes to an end.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "fake_engine.h"
#include "unbroken.h"

namespace deltaserve {

// Steps of a trace before it runs out: with all seeds over 10^5 of them. Under a sanitizer, where a
// step takes many times as long, the build sets fewer.
#ifndef DELTASERVE_TRACE_STEPS
#define DELTASERVE_TRACE_STEPS 2500
#endif
constexpr int kStepsPerTrace = DELTASERVE_TRACE_STEPS;

// What a trace of 2,500 steps must have seen this often at least, for one of this length.
constexpr int64_t often(int64_t times) {
  return times * kStepsPerTrace / 2500;
}

struct TraceShape {
  uint64_t seed = 0;
  FakeLimits limits;
  double arrivals_per_step = 0.3;
  int64_t longest_prompt = 150;
  int64_t longest_output = 40;
  double abort_rate = 0.0;    // a step
  double failure_rate = 0.0;  // a sequence of a batch
  uint64_t non_finite_every = 0;
  bool conversations = false;  // prompts go on where earlier texts stood
  double plain = 0.0;          // requests that steps can be launched ahead for
  double bursts = 0.0;         // of arrivals: several at once that begin with the same text
};

class Trace {
 public:
  explicit Trace(const TraceShape& shape);

  void run();

  EngineStats stats() const { return engine_.core.stats(); }

  int64_t num_preemptions() const { return engine_.core.stats().num_preemptions; }
  int64_t num_inherited() const { return num_inherited_; }
  int64_t num_held() const { return num_held_; }  // sequences, in all steps
  int64_t num_compared() const { return num_compared_; }
  int64_t num_failed_choices() const { return num_failed_; }

 private:
  bool chance(double p) { return std::uniform_real_distribution<>(0.0, 1.0)(random_) < p; }
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  Request random_request();

  // Puts a piece of an earlier text before the prompt.
  void go_on(Request& request);
  void remember(const Request& request, const ChoiceRecord& choice);
  void submit(const Request& request);

  // Requests of all kinds with one beginning, whole or in part.
  void submit_burst();
  void abort_one();
  void step();

  // The text of every choice without a cache, its prompt computed as the engine found it computed.
  RequestRecord run_reference(RequestId id, const Request& request);
  void finish(RequestId id);
  void check_error(const std::string& message, const RequestRecord& alone);

  // A choice that was ended early has the beginning of the isolated text, any other one the whole.
  void compare(const ChoiceRecord& got, const ChoiceRecord& alone, bool alone_failed);

  static void expect_equal(const TokenLogprob& a, const TokenLogprob& b);
  static void compare_logprobs(const std::vector<std::optional<TokenLogprob>>& got,
                               const std::vector<std::optional<TokenLogprob>>& alone);

  TraceShape shape_;
  std::mt19937_64 random_;
  FakeEngine engine_;
  RequestId next_id_ = 1;
  std::map<RequestId, Request> requests_;  // not finished yet
  std::map<std::pair<RequestId, int32_t>, std::vector<ChunkCode>> inherited_;
  std::vector<std::vector<int32_t>> texts_;  // of finished requests
  int64_t num_inherited_ = 0;
  int64_t num_held_ = 0;
  int64_t num_compared_ = 0;
  int64_t num_failed_ = 0;
};

}  // namespace deltaserve
