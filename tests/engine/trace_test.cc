// Random traces: arrivals, lengths, n, priorities, aborts and failing steps over tiny pools, with
// and without the prefix cache. After every step the invariants hold; whatever finishes has the
// text of an isolated run without a cache; whatever is accepted comes to an end.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>

#include "fake_engine.h"
#include "unbroken.h"

namespace deltaserve {
namespace {

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
  double bursts = 0.0;         // of arrivals: several at once that begin with the same text
};

class Trace {
 public:
  explicit Trace(const TraceShape& shape)
      : shape_(shape), random_(shape.seed), engine_(shape.limits) {
    engine_.runner.non_finite_every = shape.non_finite_every;
    engine_.runner.on_sequence = [this](const Batch&, int32_t) {
      if (chance(shape_.failure_rate)) throw std::runtime_error("injected");
    };
  }

  void run() {
    for (int i = 0; i < kStepsPerTrace; ++i) {
      // A bound on the backlog, as the server's queue has one.
      if (requests_.size() < 12 && chance(shape_.arrivals_per_step)) {
        chance(shape_.bursts) ? submit_burst() : submit(random_request());
      }
      if (!requests_.empty() && chance(shape_.abort_rate)) abort_one();
      if (engine_.core.has_work()) step();
    }
    for (int i = 0; engine_.core.has_work(); ++i) {
      ASSERT_LT(i, 20000) << "the engine does not come to an end";
      step();
    }
    EXPECT_TRUE(requests_.empty()) << requests_.size() << " requests never finished";
    const EngineSnapshot end = engine_.core.snapshot();
    EXPECT_EQ(end.num_free_blocks + end.num_reclaimable_blocks, shape_.limits.num_blocks);
    EXPECT_EQ(end.num_free_slots, shape_.limits.max_num_seqs);
  }

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

  Request random_request() {
    const int64_t longest = shape_.limits.num_blocks * kBlockSize;
    const int64_t prompt = between(1, std::min(shape_.longest_prompt, longest - 1));
    Request request = make_request(
        prompt, between(1, std::min(shape_.longest_output, longest - prompt)), random_());
    SamplingParams& sampling = request.sampling;
    sampling.temperature = chance(0.5) ? 1.0F : 0.0F;
    sampling.repetition_penalty = chance(0.3) ? 1.2F : 1.0F;
    sampling.presence_penalty = chance(0.3) ? 0.5F : 0.0F;
    sampling.num_logprobs = chance(0.3) ? static_cast<int32_t>(between(0, 3)) : -1;
    sampling.n = chance(0.2) ? static_cast<int32_t>(between(2, 3)) : 1;
    sampling.min_tokens = chance(0.3) ? between(0, sampling.max_tokens) : 0;
    sampling.ignore_eos = chance(0.3);
    if (chance(0.3)) sampling.stop_token_ids = {3, 900};
    request.eos_token_ids = {7};
    request.priority = static_cast<int32_t>(between(0, 2));
    request.prompt_logprobs = chance(0.2) ? static_cast<int32_t>(between(0, 2)) : -1;
    if (shape_.conversations) go_on(request);
    return request;
  }

  // Puts a piece of an earlier text before the prompt.
  void go_on(Request& request) {
    // The first token shows, after its step, how the prompt before it was computed.
    request.sampling.max_tokens = std::max<int64_t>(2, request.sampling.max_tokens);
    request.sampling.min_tokens = std::max<int64_t>(1, request.sampling.min_tokens);
    std::vector<int32_t>& prompt = request.prompt_token_ids;
    if (chance(0.2)) request.cache_salt = "other";
    if (chance(0.3)) {
      request.cache_borders = {between(0, 40), between(41, 100), between(101, 150)};
    }
    const int64_t longest = shape_.limits.num_blocks * kBlockSize - request.sampling.max_tokens;
    if (!texts_.empty() && chance(0.8)) {
      const std::vector<int32_t>& text =
          texts_[static_cast<size_t>(between(0, static_cast<int64_t>(texts_.size()) - 1))];
      const auto size = static_cast<int64_t>(text.size());
      const int64_t kept = chance(0.6) ? size : between(1, size);
      prompt.insert(prompt.begin(), text.begin(), text.begin() + kept);
    }
    const int64_t most = std::min(longest, 3 * shape_.longest_prompt);
    if (static_cast<int64_t>(prompt.size()) > most) prompt.resize(static_cast<size_t>(most));
  }

  void remember(const Request& request, const ChoiceRecord& choice) {
    std::vector<int32_t> text = request.prompt_token_ids;
    text.insert(text.end(), choice.tokens.begin(), choice.tokens.end());
    if (texts_.size() < 8) {
      texts_.push_back(std::move(text));
    } else {
      texts_[static_cast<size_t>(between(0, 7))] = std::move(text);
    }
  }

  void submit(const Request& request) {
    const RequestId id = next_id_++;
    requests_[id] = request;
    engine_.core.add(id, request);
  }

  // Requests of all kinds with one beginning, whole or in part.
  void submit_burst() {
    const int64_t longest = shape_.limits.num_blocks * kBlockSize;
    const Request first = random_request();
    const int64_t shared = between(kChunkSize, std::min<int64_t>(longest / 2, 500));
    const Request beginning = make_request(shared, 1, random_());
    for (int64_t left = between(2, 5); left > 0; --left) {
      Request request = random_request();
      request.tenant = std::to_string(between(0, 2));
      request.cache_salt = chance(0.1) ? "stranger" : first.cache_salt;
      const std::vector<int32_t>& text = beginning.prompt_token_ids;
      const auto size = static_cast<int64_t>(text.size());
      const int64_t kept = chance(0.6) ? size : between(1, size);
      std::vector<int32_t>& prompt = request.prompt_token_ids;
      prompt.insert(prompt.begin(), text.begin(), text.begin() + kept);
      const int64_t most = longest - request.sampling.max_tokens;
      if (static_cast<int64_t>(prompt.size()) > most) prompt.resize(static_cast<size_t>(most));
      submit(request);
    }
  }

  void abort_one() {
    auto entry = requests_.begin();
    std::advance(entry, between(0, static_cast<int64_t>(requests_.size()) - 1));
    if (chance(0.3)) {
      engine_.core.abort_choice(entry->first, static_cast<int32_t>(between(0, 2)));
    } else {
      engine_.core.abort(entry->first);
    }
  }

  void step() {
    const std::vector<RequestId> finished = engine_.step();
    for (const SequenceSnapshot& s : engine_.core.snapshot().sequences) {
      num_held_ += s.held_for ? 1 : 0;
      if (s.status == SequenceStatus::kRunning) inherited_[{s.request, s.index}] = s.inherited;
    }
    for (const RequestId id : finished) finish(id);
  }

  // The text of every choice without a cache, its prompt computed as the engine found it computed.
  RequestRecord run_reference(RequestId id, const Request& request) {
    RequestRecord record = run_alone(request, shape_.non_finite_every);
    for (auto& [index, choice] : record.choices) {
      const std::vector<ChunkCode> inherited = inherited_[{id, index}];
      inherited_.erase({id, index});
      if (inherited.empty()) continue;
      EXPECT_TRUE(shape_.limits.reuse_answers);
      ++num_inherited_;
      FakeRunner runner(shape_.limits.num_blocks, 1, kFakeVocab);
      runner.non_finite_every = shape_.non_finite_every;
      choice = UnbrokenRun(runner, request, index, kFakeVocab).run(inherited);
    }
    return record;
  }

  void finish(RequestId id) {
    const RequestRecord record = engine_.recorder.records.at(id);
    const Request request = requests_.at(id);
    requests_.erase(id);
    const RequestRecord alone = run_reference(id, request);
    if (shape_.conversations) remember(request, record.choices.at(0));
    ASSERT_EQ(static_cast<int32_t>(record.choices.size()), request.sampling.n);
    EXPECT_EQ(record.num_prompt_tokens, static_cast<int64_t>(request.prompt_token_ids.size()));
    for (const auto& [index, choice] : record.choices) {
      compare(choice, alone.choices.at(index), alone.any(FinishReason::kError));
      if (choice.error) check_error(choice.error->message, alone);
    }
    if (record.choices.at(0).tokens.empty() || alone.prompt_logprobs.empty()) return;
    compare_logprobs(record.prompt_logprobs, alone.prompt_logprobs);
  }

  void check_error(const std::string& message, const RequestRecord& alone) {
    if (message.find("injected") != std::string::npos) {
      EXPECT_GT(shape_.failure_rate, 0.0);
      ++num_failed_;
      return;
    }
    EXPECT_NE(message.find("non-finite logits"), std::string::npos) << message;
    EXPECT_TRUE(alone.any(FinishReason::kError));
  }

  // A choice that was ended early has the beginning of the isolated text, any other one the whole.
  void compare(const ChoiceRecord& got, const ChoiceRecord& alone, bool alone_failed) {
    const bool whole = got.reason == FinishReason::kStop || got.reason == FinishReason::kLength;
    if (whole && !alone_failed) {
      EXPECT_EQ(got.reason, alone.reason);
      EXPECT_EQ(got.stop_token, alone.stop_token);
      EXPECT_EQ(got.tokens.size(), alone.tokens.size());
      ++num_compared_;
    }
    if (!alone_failed) {
      ASSERT_LE(got.tokens.size(), alone.tokens.size());
    }
    const size_t common = std::min(got.tokens.size(), alone.tokens.size());
    for (size_t i = 0; i < common; ++i) {
      ASSERT_EQ(got.tokens[i], alone.tokens[i]) << "at output token " << i;
    }
    for (size_t i = 0; i < std::min(got.logprobs.size(), alone.logprobs.size()); ++i) {
      expect_equal(got.logprobs[i], alone.logprobs[i]);
    }
  }

  static void expect_equal(const TokenLogprob& a, const TokenLogprob& b) {
    EXPECT_EQ(a.token, b.token);
    EXPECT_EQ(a.logprob, b.logprob);
    ASSERT_EQ(a.top.size(), b.top.size());
    for (size_t i = 0; i < a.top.size(); ++i) EXPECT_EQ(a.top[i].token, b.top[i].token);
  }

  static void compare_logprobs(const std::vector<std::optional<TokenLogprob>>& got,
                               const std::vector<std::optional<TokenLogprob>>& alone) {
    ASSERT_EQ(got.size(), alone.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].has_value(), i > 0);
      if (i > 0) expect_equal(*got[i], *alone[i]);
    }
  }

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

class RandomTraces : public testing::TestWithParam<uint64_t> {
 protected:
  TraceShape shape(FakeLimits limits) const { return {.seed = GetParam(), .limits = limits}; }
};

TEST_P(RandomTraces, AmpleMemory) {
  Trace trace(shape({.num_blocks = 256, .max_num_seqs = 8, .max_num_batched_tokens = 512}));
  trace.run();
  EXPECT_GT(trace.num_compared(), often(100));
  EXPECT_EQ(trace.num_preemptions(), 0);
}

TEST_P(RandomTraces, TinyPoolForcesPreemption) {
  TraceShape s = shape({.num_blocks = 14, .max_num_seqs = 6, .max_num_batched_tokens = 100});
  s.longest_prompt = 70;
  s.longest_output = 150;
  Trace trace(s);
  trace.run();
  EXPECT_GT(trace.num_compared(), often(30));
  EXPECT_GT(trace.num_preemptions(), often(30));
}

TEST_P(RandomTraces, SmallestBudget) {
  TraceShape s = shape({.num_blocks = 40, .max_num_seqs = 9, .max_num_batched_tokens = 64 + 9});
  s.longest_prompt = 300;
  Trace trace(s);
  trace.run();
  EXPECT_GT(trace.num_compared(), often(30));
}

TEST_P(RandomTraces, AbortsAndFailingSteps) {
  TraceShape s = shape({.num_blocks = 20, .max_num_seqs = 6, .max_num_batched_tokens = 128});
  s.abort_rate = 0.1;
  s.failure_rate = 0.01;
  s.non_finite_every = 400;
  s.arrivals_per_step = 0.6;
  Trace trace(s);
  trace.run();
  EXPECT_GT(trace.num_compared(), often(20));
  EXPECT_GT(trace.num_failed_choices(), often(5));
}

class CachedTraces : public RandomTraces {
 protected:
  TraceShape shape(FakeLimits limits) const {
    TraceShape s = RandomTraces::shape(limits);
    s.conversations = true;
    s.longest_prompt = 100;
    s.longest_output = 90;
    return s;
  }
};

TEST_P(CachedTraces, AmpleMemory) {
  Trace trace(shape({.num_blocks = 400,
                     .max_num_seqs = 6,
                     .max_num_batched_tokens = 300,
                     .num_snapshots = 50,
                     .snapshot_interval = 2}));
  trace.run();
  EXPECT_GT(trace.num_compared(), often(50));
  EXPECT_GT(trace.num_inherited(), often(10));
  EXPECT_GT(trace.stats().prefix_hit_tokens, trace.stats().prefix_query_tokens / 10);
}

TEST_P(CachedTraces, PromptsOnly) {
  Trace trace(shape({.num_blocks = 400,
                     .max_num_seqs = 6,
                     .max_num_batched_tokens = 300,
                     .num_snapshots = 20,
                     .reuse_answers = false}));
  trace.run();
  EXPECT_GT(trace.num_compared(), often(50));
  EXPECT_EQ(trace.num_inherited(), 0);
  EXPECT_GT(trace.stats().prefix_hit_tokens, trace.stats().prefix_query_tokens / 20);
}

TEST_P(CachedTraces, TinyPoolsEvictAndPreempt) {
  for (const bool reuse_answers : {true, false}) {
    Trace trace(shape({.num_blocks = 30,
                       .max_num_seqs = 5,
                       .max_num_batched_tokens = 140,
                       .num_snapshots = 3,
                       .reuse_answers = reuse_answers,
                       .snapshot_interval = 1}));
    trace.run();
    EXPECT_GT(trace.num_compared(), often(20));
    EXPECT_GT(trace.num_preemptions(), often(10));
    EXPECT_GT(trace.stats().prefix_hit_tokens, 0);
    EXPECT_GT(trace.stats().evicted_blocks, often(100));
    EXPECT_GT(trace.stats().evicted_snapshots, often(10));
  }
}

// The host tier holds six chunks and 24 states, or nothing but a few states.
TEST_P(CachedTraces, HostTier) {
  for (const int64_t swap_space : {9000, 200}) {
    TraceShape s = shape({.num_blocks = 36,
                          .max_num_seqs = 4,
                          .max_num_batched_tokens = 140,
                          .num_snapshots = 3,
                          .snapshot_interval = 1,
                          .swap_space_bytes = swap_space});
    s.abort_rate = 0.05;
    s.failure_rate = 0.003;
    Trace trace(s);
    trace.run();
    EXPECT_GT(trace.num_compared(), often(20));
    EXPECT_GT(trace.stats().prefix_hit_tokens, 0);
    EXPECT_GT(trace.stats().evicted_snapshots, 0);
    if (swap_space < 5000) continue;
    EXPECT_GT(trace.stats().swapped_out_blocks, often(100));
    EXPECT_GT(trace.stats().swapped_in_blocks, often(20));
  }
}

TEST_P(CachedTraces, AbortsAndFailingSteps) {
  TraceShape s = shape({.num_blocks = 60,
                        .max_num_seqs = 6,
                        .max_num_batched_tokens = 200,
                        .num_snapshots = 8,
                        .snapshot_interval = 1,
                        .long_prefill_token_threshold = 64});
  s.abort_rate = 0.1;
  s.failure_rate = 0.01;
  s.non_finite_every = 2000;
  s.arrivals_per_step = 0.6;
  Trace trace(s);
  trace.run();
  EXPECT_GT(trace.num_compared(), often(10));
  EXPECT_GT(trace.num_failed_choices(), often(5));
}

TEST_P(CachedTraces, Bursts) {
  for (const bool reuse_answers : {true, false}) {
    TraceShape s = shape({.num_blocks = 400,
                          .max_num_seqs = 12,
                          .max_num_batched_tokens = reuse_answers ? 1000 : 2000,
                          .num_snapshots = 12,
                          .reuse_answers = reuse_answers});
    s.bursts = 0.5;
    s.arrivals_per_step = 0.15;
    s.longest_output = 15;
    Trace trace(s);
    trace.run();
    EXPECT_GT(trace.num_compared(), often(50));
    EXPECT_GT(trace.num_held(), often(100));
    EXPECT_GT(trace.stats().prefix_hit_tokens, trace.stats().prefix_query_tokens / 10);
  }
}

// Leaders are aborted, fail and are preempted; snapshots and blocks are scarce.
TEST_P(CachedTraces, BurstsWithAbortsAndFailingSteps) {
  for (const int32_t num_blocks : {48, 200}) {
    TraceShape s = shape({.num_blocks = num_blocks,
                          .max_num_seqs = 8,
                          .max_num_batched_tokens = 500,
                          .num_snapshots = 4,
                          .fair_share = num_blocks == 48,
                          .swap_space_bytes = 4000});
    s.bursts = 0.5;
    s.longest_prompt = 60;
    s.longest_output = 25;
    s.abort_rate = 0.1;
    s.failure_rate = 0.01;
    s.non_finite_every = 2000;
    Trace trace(s);
    trace.run();
    EXPECT_GT(trace.num_compared(), often(10));
    // Few fit beside a leader in the small pool.
    EXPECT_GT(trace.num_held(), often(num_blocks == 48 ? 5 : 20));
    EXPECT_GT(trace.num_failed_choices(), often(2));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CachedTraces, testing::Range<uint64_t>(1, 9));
INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraces, testing::Range<uint64_t>(1, 18));

}  // namespace
}  // namespace deltaserve
