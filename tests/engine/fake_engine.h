// An EngineCore over a FakeRunner of matching size, and requests for it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "async_runner.h"
#include "engine/engine_core.h"
#include "fake_runner.h"
#include "recorder.h"

namespace deltaserve {

inline constexpr int32_t kFakeVocab = 61;
inline constexpr int32_t kFakePlaceholder = kFakeVocab - 1;  // of pictures, where there are any

struct FakeLimits {
  int32_t num_blocks = 64;
  int64_t max_num_seqs = 4;
  int64_t max_num_batched_tokens = 256;
  // The prefix cache; no snapshots: it is off.
  int32_t num_snapshots = 0;
  bool reuse_answers = true;
  int64_t snapshot_interval = 0;
  int64_t long_prefill_token_threshold = 0;
  bool fair_share = false;
  int64_t swap_space_bytes = 0;
  int64_t vision_pages = 0;
  int64_t min_shared_tokens = kChunkSize;
  bool async = false;      // steps are launched ahead
  bool on_thread = false;  // and run on a thread of their own
};

struct FakeEngine {
  explicit FakeEngine(const FakeLimits& limits)
      : runner(limits.num_blocks, static_cast<int32_t>(limits.max_num_seqs) + limits.num_snapshots,
               kFakeVocab, limits.vision_pages),
        async(runner, limits.on_thread),
        core(core_options(limits),
             limits.async ? static_cast<ModelRunner&>(async) : static_cast<ModelRunner&>(runner)) {}

  static CoreOptions core_options(const FakeLimits& limits) {
    return {.num_blocks = limits.num_blocks,
            .num_state_slots = static_cast<int32_t>(limits.max_num_seqs),
            .num_snapshots = limits.num_snapshots,
            .state_slot_bytes = 8,
            .vocab_size = kFakeVocab,
            .placeholders = {.image = limits.vision_pages > 0 ? kFakePlaceholder : -1, .video = -1},
            .scheduler = {.max_num_seqs = limits.max_num_seqs,
                          .max_num_batched_tokens = limits.max_num_batched_tokens,
                          .long_prefill_token_threshold = limits.long_prefill_token_threshold,
                          .fair_share = limits.fair_share},
            .prefix_cache = {.enabled = limits.num_snapshots > 0,
                             .reuse_answers = limits.reuse_answers,
                             .snapshot_interval = limits.snapshot_interval,
                             .hash_seed = 1,
                             .swap_space_bytes = limits.swap_space_bytes,
                             .min_shared_tokens = limits.min_shared_tokens},
            .async_scheduling = limits.async};
  }

  // One step with its checks; returns the requests that finished.
  std::vector<RequestId> step() {
    core.step();
    const auto violation = find_violation(core.snapshot());
    EXPECT_FALSE(violation.has_value()) << *violation;
    return recorder.take(core.take_outputs());
  }

  // Steps until all is done; fails the test after `limit` steps.
  void run(int64_t limit = 100000) {
    for (int64_t i = 0; core.has_work(); ++i) {
      ASSERT_LT(i, limit) << "the engine does not come to an end";
      step();
    }
  }

  FakeRunner runner;
  AsyncRunner async;
  EngineCore core;
  Recorder recorder;
};

inline Request make_request(int64_t prompt_len, int64_t max_tokens, uint64_t seed = 1) {
  Request request;
  for (int64_t i = 0; i < prompt_len; ++i) {
    const uint64_t x = (seed * 1000003 + static_cast<uint64_t>(i)) * 0x9E3779B97F4A7C15U;
    request.prompt_token_ids.push_back(static_cast<int32_t>((x >> 33U) % kFakeVocab));
  }
  request.sampling.max_tokens = max_tokens;
  request.sampling.seed = seed;
  return request;
}

// What the request gives on an engine of its own, one sequence at a time, in the smallest steps.
inline RequestRecord run_alone(const Request& request, uint64_t non_finite_every = 0) {
  const auto longest =
      static_cast<int64_t>(request.prompt_token_ids.size()) + request.sampling.max_tokens;
  FakeEngine alone({.num_blocks = static_cast<int32_t>(blocks_for_tokens(longest)),
                    .max_num_seqs = 1,
                    .max_num_batched_tokens = kChunkSize + 1,
                    .vision_pages = request.vision_items.empty() ? 0 : 64});
  alone.runner.non_finite_every = non_finite_every;
  alone.core.add(1, request);
  alone.run();
  return alone.recorder.records[1];
}

}  // namespace deltaserve
