// Requests that begin at once with the same long text: one of them computes it, the others wait for
// it and find it, whatever becomes of the one.
#include "engine/prefix_sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "fake_engine.h"

namespace deltaserve {
namespace {

constexpr FakeLimits kAmple{.num_blocks = 2000,
                            .max_num_seqs = 8,
                            .max_num_batched_tokens = 8192,
                            .num_snapshots = 64,
                            .min_shared_tokens = 256};

class PrefixSharingTest : public testing::Test {
 protected:
  void init(const FakeLimits& limits) {
    engine_ = std::make_unique<FakeEngine>(limits);
    rows_ = 0;
    engine_->runner.on_sequence = [this](const Batch& batch, int32_t b) {
      const auto i = static_cast<size_t>(b);
      if (batch.recurrent[i] == 0) rows_ += batch.cu_seqlens[i + 1] - batch.cu_seqlens[i];
    };
  }
  void SetUp() override { init(kAmple); }

  // `shared` tokens of text number `text`, then `own` ones that nobody else has.
  static Request make(int64_t shared, int64_t own, uint64_t seed, uint64_t text = 1000) {
    Request request = make_request(own, 4, seed);
    const std::vector<int32_t> begin = make_request(shared, 1, text).prompt_token_ids;
    request.prompt_token_ids.insert(request.prompt_token_ids.begin(), begin.begin(), begin.end());
    // So that they part exactly there.
    if (own > 0) request.prompt_token_ids[begin.size()] = static_cast<int32_t>(seed);
    return request;
  }

  RequestId add(const Request& request) {
    requests_[++last_id_] = request;
    engine_->core.add(last_id_, request);
    return last_id_;
  }

  int64_t cached(RequestId id) const { return engine_->recorder.records.at(id).num_cached_tokens; }

  // To the end; what was not aborted has the text of an isolated run.
  void run_all() {
    engine_->run();
    for (const auto& [id, request] : requests_) {
      const RequestRecord alone = run_alone(request);
      for (const auto& [index, choice] : engine_->recorder.records.at(id).choices) {
        if (choice.reason == FinishReason::kAbort || choice.error) continue;
        EXPECT_EQ(choice.tokens, alone.choices.at(index).tokens) << "request " << id;
      }
    }
  }

  std::unique_ptr<FakeEngine> engine_;
  std::map<RequestId, Request> requests_;
  RequestId last_id_ = 0;
  int64_t rows_ = 0;  // computed in chunks
};

TEST_F(PrefixSharingTest, ABurstComputesItsPrefixOnce) {
  for (const int64_t budget : {8192, 1024, 100}) {
    FakeLimits limits = kAmple;
    limits.max_num_batched_tokens = budget;
    init(limits);
    requests_.clear();
    std::vector<RequestId> ids;
    for (uint64_t i = 1; i <= 4; ++i) ids.push_back(add(make(1000, 300, i)));
    run_all();
    EXPECT_EQ(cached(ids[0]), 0);
    for (size_t i = 1; i < 4; ++i) EXPECT_EQ(cached(ids[i]), 960) << "budget " << budget;
    EXPECT_EQ(rows_, 1300 + 3 * (1300 - 960));
  }
}

TEST_F(PrefixSharingTest, EqualPromptsShareAllButTheirLastChunk) {
  for (const int64_t length : {1000, 1024}) {
    init(kAmple);
    requests_.clear();
    const RequestId first = add(make(length, 0, 1));
    const RequestId second = add(make(length, 0, 2));
    run_all();
    EXPECT_EQ(cached(first), 0);
    EXPECT_EQ(cached(second), 960);
  }
}

TEST_F(PrefixSharingTest, ALateOneSharesWhatIsStillToCome) {
  FakeLimits limits = kAmple;
  limits.max_num_batched_tokens = 512;
  init(limits);
  add(make(3000, 0, 1));
  engine_->step();
  const RequestId ahead = add(make(1500, 300, 2));
  const RequestId behind = add(make(450, 300, 3));
  run_all();
  EXPECT_EQ(cached(ahead), 1472);
  EXPECT_EQ(cached(behind), 0) << "the leader was past the border already";
}

TEST_F(PrefixSharingTest, EachPartsWhereItParts) {
  add(make(3000, 0, 1));
  const RequestId early = add(make(1000, 300, 2));
  const RequestId late = add(make(2000, 300, 3));
  run_all();
  EXPECT_EQ(cached(early), 960);
  EXPECT_EQ(cached(late), 1984);
}

// The second and third share more with one another than with the first.
TEST_F(PrefixSharingTest, AFollowerLeadsTheNext) {
  add(make(1000, 300, 1));
  Request second = make(1000, 2000, 2);
  Request third = second;
  third.prompt_token_ids.resize(2500);
  third.prompt_token_ids.push_back(1);
  const RequestId ids[] = {add(second), add(third)};
  run_all();
  EXPECT_EQ(cached(ids[0]), 960);
  EXPECT_EQ(cached(ids[1]), 2496);
}

TEST_F(PrefixSharingTest, AShortOneIsNotWorthTheWait) {
  const RequestId first = add(make(300, 10, 1));
  const RequestId second = add(make(300, 10, 2));
  engine_->step();
  EXPECT_EQ(engine_->core.stats().num_running, 1);
  run_all();
  EXPECT_EQ(cached(second), 256);
  const RequestId third = add(make(250, 10, 3, 1001));
  const RequestId fourth = add(make(250, 10, 4, 1001));
  engine_->step();
  EXPECT_EQ(engine_->core.stats().num_running, 2);
  run_all();
  EXPECT_EQ(cached(first) + cached(third) + cached(fourth), 0);
}

TEST_F(PrefixSharingTest, WhatTheCacheHasAlreadyIsNotWaitedFor) {
  add(make(1000, 0, 1));
  run_all();
  const RequestId first = add(make(1000, 400, 2));
  const RequestId second = add(make(1000, 400, 3));
  engine_->step();
  EXPECT_EQ(engine_->core.stats().num_running, 2);
  run_all();
  EXPECT_EQ(cached(first), 960);
  EXPECT_EQ(cached(second), 960);
}

TEST_F(PrefixSharingTest, SaltsAndContentTellPrefixesApart) {
  Request alice = make(1000, 100, 1);
  alice.cache_salt = "alice";
  Request bob = make(1000, 100, 2);
  bob.cache_salt = "bob";
  add(alice);
  const RequestId stranger = add(bob);
  Request cat = make(1000, 100, 3);
  cat.content_keys = {{.position = 500, .hash = {.low = 1, .high = 2}}};
  Request dog = make(1000, 100, 4);
  dog.content_keys = {{.position = 500, .hash = {.low = 1, .high = 3}}};
  add(cat);
  const RequestId other_picture = add(dog);
  run_all();
  EXPECT_EQ(cached(stranger), 0);
  EXPECT_EQ(cached(other_picture), 448);
}

TEST_F(PrefixSharingTest, AnUrgentRequestDoesNotWaitForALesserOne) {
  FakeLimits limits = kAmple;
  limits.max_num_batched_tokens = 512;
  init(limits);
  Request lesser = make(600, 0, 1);
  lesser.priority = 1;
  add(lesser);
  engine_->step();
  const RequestId urgent = add(make(590, 1000, 2));
  engine_->step();
  EXPECT_EQ(engine_->core.stats().num_running, 2);
  run_all();
  EXPECT_EQ(cached(urgent), 0);
}

TEST_F(PrefixSharingTest, AHeldRequestWaitsAndKeepsItsSlot) {
  FakeLimits limits = kAmple;
  limits.max_num_seqs = 2;
  init(limits);
  add(make(1000, 0, 1));
  const RequestId held = add(make(900, 300, 2));
  add(make(0, 300, 3));
  engine_->step();
  EXPECT_EQ(engine_->core.stats().num_running, 1);
  EXPECT_EQ(engine_->core.stats().num_waiting, 2);
  engine_->step();
  EXPECT_EQ(engine_->core.stats().num_running, 2);
  run_all();
  EXPECT_EQ(cached(held), 896);
}

TEST_F(PrefixSharingTest, OthersPassTheHeld) {
  add(make(1000, 0, 1));
  add(make(900, 300, 2));
  const RequestId other = add(make(0, 300, 3));
  engine_->step();
  EXPECT_EQ(engine_->core.stats().num_running, 2);
  EXPECT_FALSE(engine_->recorder.records.at(other).choices.at(0).tokens.empty());
  run_all();
}

TEST_F(PrefixSharingTest, WhenTheLeaderIsAbortedTheNextOneLeads) {
  FakeLimits limits = kAmple;
  limits.max_num_batched_tokens = 512;
  init(limits);
  const RequestId leader = add(make(2000, 300, 1));
  std::vector<RequestId> ids;
  for (uint64_t i = 2; i <= 4; ++i) ids.push_back(add(make(2000, 300, i)));
  engine_->step();
  engine_->step();
  engine_->core.abort(leader);
  run_all();
  EXPECT_LE(cached(ids[0]), 1024);
  EXPECT_EQ(cached(ids[1]), 1984);
  EXPECT_EQ(cached(ids[2]), 1984);
}

TEST_F(PrefixSharingTest, WhenTheLeadersStepFailsTheNextOneLeads) {
  const RequestId leader = add(make(1000, 300, 1));
  const RequestId second = add(make(1000, 300, 2));
  const RequestId third = add(make(1000, 300, 3));
  const auto count = engine_->runner.on_sequence;
  engine_->runner.on_sequence = [](const Batch&, int32_t) { throw std::runtime_error("injected"); };
  engine_->step();
  engine_->runner.on_sequence = count;
  run_all();
  EXPECT_TRUE(engine_->recorder.records.at(leader).choices.at(0).error.has_value());
  EXPECT_EQ(cached(second), 0);
  EXPECT_EQ(cached(third), 960);
}

TEST_F(PrefixSharingTest, ChoicesAndScoredPromptsTakePart) {
  Request several = make(1000, 300, 1);
  several.sampling.n = 3;
  add(several);
  several = make(1000, 300, 2);
  several.sampling.n = 3;
  const RequestId second = add(several);
  Request scored = make(1000, 300, 3);
  scored.prompt_logprobs = 0;
  add(scored);
  run_all();
  EXPECT_EQ(cached(second), 960);
  EXPECT_EQ(rows_, 1300 + 340 + 1300);
}

// One that is scored goes a chunk a step: to wait for it would take longer.
TEST_F(PrefixSharingTest, NobodyWaitsForAScoredPrompt) {
  Request scored = make(1000, 300, 1);
  scored.prompt_logprobs = 0;
  add(scored);
  const RequestId other = add(make(1000, 300, 2));
  engine_->step();
  EXPECT_EQ(engine_->core.stats().num_running, 2);
  EXPECT_FALSE(engine_->recorder.records.at(other).choices.at(0).tokens.empty());
  run_all();
}

TEST_F(PrefixSharingTest, WithoutSnapshotsNobodyWaits) {
  FakeLimits limits = kAmple;
  limits.num_snapshots = 0;
  init(limits);
  for (uint64_t i = 1; i <= 3; ++i) add(make(1000, 300, i));
  engine_->step();
  EXPECT_EQ(engine_->core.stats().num_running, 3);
  run_all();
}

// Every snapshot is somebody's beginning at the time: the leader leaves none.
TEST_F(PrefixSharingTest, WithoutAPlaceForTheSnapshotTheHeldComputeItThemselves) {
  FakeLimits limits = kAmple;
  limits.num_snapshots = 1;
  init(limits);
  std::vector<RequestId> ids;
  for (uint64_t i = 1; i <= 6; ++i)
    ids.push_back(add(make(1000 + 300 * static_cast<int64_t>(i), 300, i)));
  run_all();
  EXPECT_EQ(engine_->core.stats().num_running, 0);
}

}  // namespace
}  // namespace deltaserve
