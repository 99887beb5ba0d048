// Random traces with and without the prefix cache, over ample and tiny pools.
#include "random_trace.h"

namespace deltaserve {
namespace {

// Traces from this seed on launch steps ahead, and few of their requests keep them from it.
constexpr uint64_t kFirstAsyncSeed = 100;

class RandomTraces : public testing::TestWithParam<uint64_t> {
 protected:
  TraceShape shape(FakeLimits limits) const {
    limits.async = is_async();
    return {.seed = GetParam(), .limits = limits, .plain = is_async() ? 0.5 : 0.0};
  }
  bool is_async() const { return GetParam() >= kFirstAsyncSeed; }
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
  for (const int32_t num_blocks : {96, 200}) {
    TraceShape s = shape({.num_blocks = num_blocks,
                          .max_num_seqs = 8,
                          .max_num_batched_tokens = 500,
                          .num_snapshots = 4,
                          .fair_share = num_blocks == 96,
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
    EXPECT_GT(trace.num_held(), often(20));
    EXPECT_GT(trace.num_failed_choices(), often(2));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CachedTraces, testing::Range<uint64_t>(1, 9));
INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraces, testing::Range<uint64_t>(1, 18));
INSTANTIATE_TEST_SUITE_P(AsyncSeeds, CachedTraces,
                         testing::Range(kFirstAsyncSeed, kFirstAsyncSeed + 3));
INSTANTIATE_TEST_SUITE_P(AsyncSeeds, RandomTraces,
                         testing::Range(kFirstAsyncSeed, kFirstAsyncSeed + 4));

}  // namespace
}  // namespace deltaserve
