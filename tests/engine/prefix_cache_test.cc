// What requests find of one another, case by case: how many tokens are spared, and that the text is
// that of a run without a cache.
#include "engine/prefix_cache.h"

#include <gtest/gtest.h>

#include "fake_engine.h"
#include "unbroken.h"

namespace deltaserve {
namespace {

constexpr FakeLimits kAmple{
    .num_blocks = 1000, .max_num_seqs = 8, .max_num_batched_tokens = 512, .num_snapshots = 64};

class PrefixCacheTest : public testing::Test {
 protected:
  void init(const FakeLimits& limits) { engine_ = std::make_unique<FakeEngine>(limits); }
  void SetUp() override { init(kAmple); }

  RequestRecord run(const Request& request) {
    const RequestId id = next_id_++;
    engine_->core.add(id, request);
    engine_->run();
    return engine_->recorder.records.at(id);
  }
  int64_t cached(const Request& request) { return run(request).num_cached_tokens; }

  // The request that goes on with `text` tokens after prompt and answer.
  static Request next_turn(const Request& request, const RequestRecord& record, int64_t text) {
    Request next = request;
    const std::vector<int32_t>& answer = record.choices.at(0).tokens;
    std::vector<int32_t>& prompt = next.prompt_token_ids;
    prompt.insert(prompt.end(), answer.begin(), answer.end());
    const Request tail = make_request(text, 1, 1000 + prompt.size());
    prompt.insert(prompt.end(), tail.prompt_token_ids.begin(), tail.prompt_token_ids.end());
    return next;
  }

  // `kept` tokens of the request's prompt, then `text` others.
  static Request branch(const Request& request, size_t kept, int64_t text, uint64_t seed) {
    Request other = make_request(text, request.sampling.max_tokens, seed);
    other.prompt_token_ids.insert(
        other.prompt_token_ids.begin(), request.prompt_token_ids.begin(),
        request.prompt_token_ids.begin() + static_cast<std::ptrdiff_t>(kept));
    return other;
  }

  std::unique_ptr<FakeEngine> engine_;
  RequestId next_id_ = 1;
};

TEST_F(PrefixCacheTest, ARepeatedPromptIsComputedFromItsLastBorderOn) {
  for (const int64_t length : {1, 63, 64, 65, 100, 128, 129, 1000, 1024}) {
    const Request request = make_request(length, 5, static_cast<uint64_t>(length));
    const RequestRecord first = run(request);
    const RequestRecord second = run(request);
    EXPECT_EQ(first.num_cached_tokens, 0);
    EXPECT_EQ(second.num_cached_tokens, (length - 1) / 64 * 64) << length;
    EXPECT_EQ(second.choices.at(0).tokens, first.choices.at(0).tokens);
    EXPECT_EQ(first.choices.at(0).tokens, run_alone(request).choices.at(0).tokens);
  }
}

TEST_F(PrefixCacheTest, EveryTurnOfAConversationIsFoundToItsLastBorder) {
  Request request = make_request(100, 40);
  RequestRecord record = run(request);
  for (int turn = 0; turn < 12; ++turn) {
    const auto known = static_cast<int64_t>(request.prompt_token_ids.size() +
                                            record.choices.at(0).tokens.size() - 1);
    request = next_turn(request, record, 30 + turn);
    record = run(request);
    EXPECT_EQ(record.num_cached_tokens, known / 64 * 64) << "turn " << turn;
  }
  EXPECT_LE(engine_->core.stats().num_snapshots, 2 * 13);
}

TEST_F(PrefixCacheTest, WithoutAnswersOnlyPromptsAreFound) {
  FakeLimits limits = kAmple;
  limits.reuse_answers = false;
  init(limits);
  Request request = make_request(100, 200);
  const RequestRecord record = run(request);
  const Request next = next_turn(request, record, 50);
  const RequestRecord second = run(next);
  EXPECT_EQ(second.num_cached_tokens, 64);
  EXPECT_EQ(second.choices.at(0).tokens, run_alone(next).choices.at(0).tokens);
  EXPECT_EQ(cached(next), 349 / 64 * 64);
}

TEST_F(PrefixCacheTest, AResumedConversationHasTheBitsOfAnUnbrokenOne) {
  const Request request = make_request(100, 200);
  const Request next = next_turn(request, run(request), 50);
  const RequestRecord resumed = run(next);
  EXPECT_EQ(resumed.num_cached_tokens, 256);
  // Tokens 100 to 255 were computed one by one.
  FakeRunner runner(100, 1, kFakeVocab);
  const std::vector<ChunkCode> ways = {0, 1 + 36, 1, 1};
  EXPECT_EQ(resumed.choices.at(0).tokens,
            UnbrokenRun(runner, next, 0, kFakeVocab).run(ways).tokens);
}

TEST_F(PrefixCacheTest, WherePromptsPartASnapshotIsTakenForTheThird) {
  const Request first = make_request(2000, 3);
  run(first);
  EXPECT_EQ(cached(branch(first, 1000, 300, 2)), 0) << "no state was kept before the parting";
  EXPECT_EQ(cached(branch(first, 1000, 300, 3)), 960);
  EXPECT_EQ(cached(branch(first, 1000, 30, 4)), 960);
}

TEST_F(PrefixCacheTest, LongPromptsKeepStatesAtRegularDistances) {
  FakeLimits limits = kAmple;
  limits.snapshot_interval = 4;
  init(limits);
  const Request first = make_request(2000, 3);
  run(first);
  EXPECT_EQ(cached(branch(first, 1000, 300, 2)), 768);
  EXPECT_EQ(cached(branch(first, 511, 300, 3)), 256);
}

TEST_F(PrefixCacheTest, TheFirstAndLastMessagesKeepAState) {
  Request first = make_request(2000, 3);
  first.cache_borders = {200, 330, 600, 900, 1500, 1950};
  run(first);
  EXPECT_EQ(cached(branch(first, 200, 300, 2)), 192);
  init(kAmple);
  run(first);
  EXPECT_EQ(cached(branch(first, 1500, 300, 3)), 1472);
  init(kAmple);
  run(first);
  EXPECT_EQ(cached(branch(first, 1950, 300, 4)), 1920);
  init(kAmple);
  run(first);
  EXPECT_EQ(cached(branch(first, 900, 300, 5)), 320) << "one in the middle keeps none";
}

TEST_F(PrefixCacheTest, SaltsAreStrangersToOneAnother) {
  Request request = make_request(500, 3);
  run(request);
  request.cache_salt = "alice";
  EXPECT_EQ(cached(request), 0);
  EXPECT_EQ(cached(request), 448);
  request.cache_salt = "bob";
  EXPECT_EQ(cached(request), 0);
}

TEST_F(PrefixCacheTest, ContentBehindEqualTokensIsToldApart) {
  Request cat = make_request(500, 3);
  cat.content_keys = {{.position = 200, .hash = {.low = 1, .high = 2}}};
  Request dog = cat;
  dog.content_keys[0].hash.high = 3;
  run(cat);
  EXPECT_EQ(cached(cat), 448);
  run(dog);
  EXPECT_EQ(cached(dog), 448);
  init(kAmple);
  run(cat);
  cat.content_keys[0].position = 201;
  EXPECT_EQ(cached(cat), 0);
  cat.content_keys.clear();
  EXPECT_EQ(cached(cat), 192) << "up to the chunk of the image";
}

TEST_F(PrefixCacheTest, ScoredPromptsAreComputedWhole) {
  Request request = make_request(300, 3);
  const RequestRecord first = run(request);
  request.prompt_logprobs = 1;
  const RequestRecord scored = run(request);
  EXPECT_EQ(scored.num_cached_tokens, 0);
  EXPECT_EQ(scored.prompt_logprobs.size(), 300U);
  EXPECT_EQ(scored.choices.at(0).tokens, first.choices.at(0).tokens);
}

TEST_F(PrefixCacheTest, ChoicesShareOnePrefillAndItsBlocks) {
  for (const int64_t length : {33, 64, 100, 160}) {
    init({.num_blocks = 200, .max_num_seqs = 8, .max_num_batched_tokens = 512});  // no cache
    Request request = make_request(length, 20, 9);
    request.sampling.n = 5;
    engine_->core.add(1, request);
    int64_t rows = 0;
    engine_->runner.on_sequence = [&rows](const Batch& batch, int32_t b) {
      const auto i = static_cast<size_t>(b);
      if (batch.recurrent[i] == 0) rows += batch.cu_seqlens[i + 1] - batch.cu_seqlens[i];
    };
    engine_->step();
    EXPECT_EQ(engine_->core.stats().num_running, 5);
    const int64_t own = length % kBlockSize == 0 ? 0 : 5;
    EXPECT_EQ(200 - engine_->core.snapshot().num_free_blocks, length / kBlockSize + own);
    engine_->run();
    EXPECT_EQ(rows, length);
    for (int32_t i = 0; i < 5; ++i) {
      Request single = make_request(length, 20, 9 + static_cast<uint64_t>(i));
      single.prompt_token_ids = request.prompt_token_ids;
      EXPECT_EQ(engine_->recorder.records.at(1).choices.at(i).tokens,
                run_alone(single).choices.at(0).tokens);
    }
  }
}

TEST_F(PrefixCacheTest, ChoicesWithoutASlotComeLaterFromTheCache) {
  FakeLimits limits = kAmple;
  limits.max_num_seqs = 2;
  init(limits);
  Request request = make_request(1000, 20, 9);
  request.sampling.n = 5;
  int64_t rows = 0;
  engine_->runner.on_sequence = [&rows](const Batch& batch, int32_t b) {
    const auto i = static_cast<size_t>(b);
    if (batch.recurrent[i] == 0) rows += batch.cu_seqlens[i + 1] - batch.cu_seqlens[i];
  };
  const RequestRecord record = run(request);
  EXPECT_EQ(record.num_cached_tokens, 0) << "the prompt was computed for the first one";
  EXPECT_LE(rows, 1000 + 3 * 40);
  for (int32_t i = 0; i < 5; ++i) {
    Request single = request;
    single.sampling.n = 1;
    single.sampling.seed = 9 + static_cast<uint64_t>(i);
    EXPECT_EQ(record.choices.at(i).tokens, run_alone(single).choices.at(0).tokens);
  }
}

TEST_F(PrefixCacheTest, AbortingTheChoiceThatPrefillsLeavesTheOthers) {
  FakeLimits limits = kAmple;
  limits.max_num_batched_tokens = 100;
  init(limits);
  Request request = make_request(300, 10, 9);
  request.sampling.n = 3;
  engine_->core.add(1, request);
  engine_->step();
  engine_->core.abort_choice(1, 0);
  engine_->run();
  for (int32_t i = 1; i < 3; ++i) {
    Request single = request;
    single.sampling.n = 1;
    single.sampling.seed = 9 + static_cast<uint64_t>(i);
    EXPECT_EQ(engine_->recorder.records.at(1).choices.at(i).tokens,
              run_alone(single).choices.at(0).tokens);
  }
}

TEST_F(PrefixCacheTest, CachedBlocksNeverStarveARequest) {
  FakeLimits limits = kAmple;
  limits.num_blocks = 40;
  init(limits);
  for (uint64_t i = 0; i < 20; ++i) run(make_request(600, 8, 50 + i));
  const Request largest = make_request(630, 10, 7);
  EXPECT_EQ(run(largest).choices.at(0).tokens, run_alone(largest).choices.at(0).tokens);
  EXPECT_EQ(engine_->core.stats().num_preemptions, 0);
  EXPECT_EQ(engine_->core.stats().kv_cache_usage, 0.0);
}

TEST_F(PrefixCacheTest, APreemptedSequenceFindsWhatItHadComputed) {
  FakeLimits limits{
      .num_blocks = 40, .max_num_seqs = 2, .max_num_batched_tokens = 256, .num_snapshots = 8};
  init(limits);
  const Request urgent = make_request(200, 200, 1);
  Request victim = make_request(200, 200, 2);
  victim.priority = 1;
  engine_->core.add(1, urgent);
  engine_->core.add(2, victim);
  engine_->run();
  const EngineStats stats = engine_->core.stats();
  EXPECT_EQ(stats.num_preemptions, 1);
  EXPECT_GT(stats.recomputed_tokens, 0);
  EXPECT_LE(stats.recomputed_tokens, 200) << "the prompt at least was still there";
  EXPECT_EQ(stats.prefix_query_tokens, 400);
  EXPECT_EQ(stats.prefix_hit_tokens, 0) << "what it had computed itself is no hit";
  EXPECT_EQ(engine_->recorder.records.at(2).choices.at(0).tokens,
            run_alone(victim).choices.at(0).tokens);
}

TEST_F(PrefixCacheTest, NothingNonFiniteIsKept) {
  constexpr uint64_t kEvery = 40;
  uint64_t seed = 1;
  while (!run_alone(make_request(300, 100, seed), kEvery).any(FinishReason::kError)) ++seed;
  engine_->runner.non_finite_every = kEvery;
  const Request request = make_request(300, 100, seed);
  EXPECT_EQ(run(request).choices.at(0).reason, FinishReason::kError);
  EXPECT_EQ(cached(request), 0);
  EXPECT_EQ(engine_->core.stats().cached_blocks, 0);
}

TEST_F(PrefixCacheTest, CountsWhatItDoes) {
  const Request request = make_request(500, 5);
  run(request);
  run(request);
  const EngineStats stats = engine_->core.stats();
  EXPECT_EQ(stats.prefix_query_tokens, 1000);
  EXPECT_EQ(stats.prefix_hit_tokens, 448);
  EXPECT_EQ(stats.num_snapshots, 1);
  EXPECT_EQ(stats.snapshot_bytes, 8);
  EXPECT_EQ(stats.cached_blocks, 28);
  EXPECT_EQ(stats.recomputed_tokens, 0);
}

TEST_F(PrefixCacheTest, TakesNoMoreThanItsSnapshotsOfAStep) {
  FakeLimits limits = kAmple;
  limits.max_num_batched_tokens = 4096;
  limits.snapshot_interval = 1;
  init(limits);
  const Request request = make_request(3000, 3);
  run(request);
  EXPECT_EQ(engine_->core.stats().num_snapshots, kMaxStepSnapshots);
  EXPECT_EQ(cached(request), 2944);
}

TEST_F(PrefixCacheTest, WhatTheDeviceGaveUpComesBackFromTheHost) {
  FakeLimits limits = kAmple;
  limits.num_blocks = 60;
  limits.num_snapshots = 4;
  for (const int64_t swap_space : {0, 1 << 20}) {
    limits.swap_space_bytes = swap_space;
    init(limits);
    const Request first = make_request(600, 8, 1);
    const RequestRecord record = run(first);
    for (uint64_t i = 0; i < 6; ++i) run(make_request(600, 8, 50 + i));
    const RequestRecord again = run(first);
    EXPECT_EQ(again.num_cached_tokens, swap_space == 0 ? 0 : 576);
    EXPECT_EQ(again.choices.at(0).tokens, record.choices.at(0).tokens);
    const EngineStats stats = engine_->core.stats();
    EXPECT_EQ(stats.swapped_in_blocks, swap_space == 0 ? 0 : 36);
    EXPECT_EQ(stats.swapped_snapshots > 0, swap_space != 0);
    EXPECT_EQ(stats.evicted_blocks > 0, swap_space == 0);
  }
}

}  // namespace
}  // namespace deltaserve
