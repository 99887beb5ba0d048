// What a plan contains: who runs, how much, in which way, and who gives way.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace deltaserve {
namespace {

class SchedulerTest : public testing::Test {
 protected:
  void init(int32_t num_blocks, int64_t max_num_seqs, int64_t budget, int64_t threshold = 0) {
    blocks_ = std::make_unique<BlockPool>(num_blocks);
    slots_ = std::make_unique<StatePool>(static_cast<int32_t>(max_num_seqs));
    cache_ = std::make_unique<PrefixCache>(PrefixCacheOptions{}, *blocks_, snapshots_);
    scheduler_ =
        std::make_unique<Scheduler>(SchedulerOptions{.max_num_seqs = max_num_seqs,
                                                     .max_num_batched_tokens = budget,
                                                     .long_prefill_token_threshold = threshold},
                                    *blocks_, *slots_, *cache_, pictures_);
  }

  ~SchedulerTest() override { requests_.clear(); }  // before the pools

  Sequence& add(int64_t prompt_len, int32_t priority = 0, int32_t prompt_logprobs = -1) {
    auto state = std::make_unique<RequestState>();
    state->id = requests_.size();
    state->request.prompt_token_ids.resize(static_cast<size_t>(prompt_len));
    state->request.priority = priority;
    state->request.prompt_logprobs = prompt_logprobs;
    state->request.sampling.seed = 0;
    state->request.sampling.max_tokens = 1000;
    state->num_scored = 1;
    state->choices.push_back(std::make_unique<Sequence>(*state, 0, requests_.size(), *blocks_, 10));
    Sequence& sequence = *state->choices[0];
    requests_.push_back(std::move(state));
    scheduler_->add(sequence);
    return sequence;
  }

  // Plans a step and takes it as computed; a sequence that samples gets token 5.
  const StepPlan& step() {
    scheduler_->plan(plan_);
    for (const ScheduledSequence& s : plan_.sequences) {
      s.sequence->mark_computed(s.num_scheduled_tokens);
      s.sequence->owner().num_scored += s.num_prompt_logprobs;
      if (s.samples) s.sequence->append(5);
    }
    return plan_;
  }

  int32_t scheduled(const Sequence& sequence) const {
    for (const ScheduledSequence& s : plan_.sequences) {
      if (s.sequence == &sequence) return s.num_scheduled_tokens;
    }
    return 0;
  }

  void finish(Sequence& sequence) {
    scheduler_->remove(sequence);
    sequence.finish();
  }

  std::unique_ptr<BlockPool> blocks_;
  std::unique_ptr<StatePool> slots_;
  StatePool snapshots_{0};
  std::unique_ptr<PrefixCache> cache_;
  EncoderCache encoded_{nullptr};
  PictureGate pictures_{encoded_};
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<RequestState>> requests_;
  StepPlan plan_;
};

TEST_F(SchedulerTest, DecodesComeBeforePrompts) {
  init(100, 4, 64 + 8);
  Sequence& early = add(200);
  step();
  Sequence& decoding = add(3, -1);
  step();  // the short prompt has priority; 200 is cut
  EXPECT_EQ(scheduled(decoding), 3);
  step();
  ASSERT_EQ(plan_.sequences.size(), 2U);
  EXPECT_EQ(plan_.sequences[0].sequence, &decoding);
  EXPECT_TRUE(plan_.sequences[0].recurrent);
  EXPECT_EQ(plan_.sequences[1].sequence, &early);
  EXPECT_FALSE(plan_.sequences[1].recurrent);
  EXPECT_LE(plan_.num_tokens, 72);
}

TEST_F(SchedulerTest, CutsPromptsAtChunkBordersOnly) {
  init(100, 2, 150);
  Sequence& sequence = add(300);
  std::vector<int32_t> pieces;
  while (sequence.in_prompt()) {
    step();
    pieces.push_back(scheduled(sequence));
    EXPECT_EQ(plan_.sequences.at(0).samples, !sequence.in_prompt());
  }
  EXPECT_EQ(pieces, (std::vector<int32_t>{128, 128, 44}));
}

TEST_F(SchedulerTest, APromptThatDoesNotFitWaitsAndThoseBehindItToo) {
  init(100, 4, 100);
  Sequence& first = add(40);
  Sequence& second = add(70);
  Sequence& third = add(5);
  step();
  EXPECT_EQ(scheduled(first), 40);
  EXPECT_EQ(scheduled(second), 0);  // 60 tokens are left, less than a chunk
  EXPECT_EQ(scheduled(third), 0);
  EXPECT_EQ(scheduler_->num_waiting(), 2);
  step();
  EXPECT_EQ(scheduled(first), 1);
  EXPECT_EQ(scheduled(second), 70);
  EXPECT_EQ(scheduled(third), 5);
}

TEST_F(SchedulerTest, ServesByPriorityThenArrival) {
  init(100, 2, 200);
  Sequence& late = add(10, 1);
  Sequence& first = add(10, 0);
  Sequence& second = add(10, 0);
  step();
  EXPECT_EQ(scheduled(first), 10);
  EXPECT_EQ(scheduled(second), 10);
  EXPECT_EQ(scheduled(late), 0);
  finish(first);
  step();
  EXPECT_EQ(scheduled(late), 10);
}

TEST_F(SchedulerTest, AdmitsOnlyWhatFitsBesideThePromised) {
  init(20, 4, 64 + 4);
  Sequence& first = add(200);   // 13 blocks, in four steps
  Sequence& second = add(112);  // 7 blocks: fits the pool beside it, but not the watermark
  Sequence& third = add(1);
  step();
  EXPECT_EQ(scheduled(first), 64);
  step();
  EXPECT_EQ(second.status(), SequenceStatus::kWaiting);
  EXPECT_EQ(third.status(), SequenceStatus::kWaiting) << "nobody overtakes";
  finish(first);
  step();
  EXPECT_EQ(second.status(), SequenceStatus::kRunning);
}

TEST_F(SchedulerTest, StartsWhatFillsThePoolWhenNothingRuns) {
  init(4, 2, 100);
  Sequence& sequence = add(64);
  step();
  EXPECT_EQ(scheduled(sequence), 64);
  EXPECT_EQ(blocks_->num_free(), 0);
}

TEST_F(SchedulerTest, PreemptsTheLastInRankAndReplaysItsOutputRecurrently) {
  init(8, 3, 64 + 3);
  Sequence& urgent = add(30, 0);
  Sequence& victim = add(30, 1);
  step();
  while (victim.status() == SequenceStatus::kRunning) step();
  EXPECT_EQ(victim.status(), SequenceStatus::kPreempted);
  EXPECT_EQ(victim.num_computed(), 0);
  EXPECT_EQ(victim.table().num_blocks(), 0);
  EXPECT_FALSE(victim.slot().has_value());
  EXPECT_EQ(urgent.status(), SequenceStatus::kRunning);
  const int64_t tokens = victim.num_tokens();
  ASSERT_GT(tokens, 31);

  finish(urgent);
  step();
  ASSERT_EQ(plan_.sequences.size(), 1U);
  EXPECT_EQ(scheduled(victim), 30);
  EXPECT_FALSE(plan_.sequences[0].recurrent);
  EXPECT_FALSE(plan_.sequences[0].samples) << "the prompt's next token is known";
  step();
  EXPECT_EQ(scheduled(victim), tokens - 30) << "replay takes many rows a step";
  EXPECT_TRUE(plan_.sequences[0].recurrent);
  EXPECT_TRUE(plan_.sequences[0].samples);
  EXPECT_EQ(victim.num_tokens(), tokens + 1);
}

TEST_F(SchedulerTest, TheFirstInRankIsNeverPreempted) {
  init(6, 3, 64 + 3);
  Sequence& first = add(20);
  add(20);
  add(20);
  for (int i = 0; i < 70; ++i) {
    step();
    ASSERT_EQ(first.status(), SequenceStatus::kRunning);
    ASSERT_EQ(scheduled(first), i == 0 ? 20 : 1);
  }
}

TEST_F(SchedulerTest, PromptLogprobsTakeOneChunkAStep) {
  init(100, 2, 300);
  Sequence& scored = add(130, 0, 1);
  step();
  EXPECT_EQ(scheduled(scored), 64);
  EXPECT_EQ(plan_.sequences[0].num_prompt_logprobs, 64);
  step();
  EXPECT_EQ(plan_.sequences[0].first_prompt_logprob, 64);
  step();
  EXPECT_EQ(scheduled(scored), 2);
  EXPECT_EQ(plan_.sequences[0].num_prompt_logprobs, 1) << "the last row scores no prompt token";
  EXPECT_TRUE(plan_.sequences[0].samples);
  EXPECT_EQ(scored.owner().num_scored, 130);
}

TEST_F(SchedulerTest, EveryDecodeRunsEveryStepBesideAFullChunk) {
  init(400, 8, 64 + 8);
  for (int i = 0; i < 7; ++i) add(4);
  step();
  Sequence& prompt = add(640);
  for (int i = 0; i < 10; ++i) {
    step();
    EXPECT_EQ(plan_.sequences.size(), 8U);
    EXPECT_EQ(scheduled(prompt), 64);
    EXPECT_EQ(plan_.num_tokens, 71);
  }
}

TEST_F(SchedulerTest, APromptBesideDecodesKeepsToItsThreshold) {
  init(400, 3, 1000, 130);
  Sequence& prompt = add(900);
  step();
  EXPECT_EQ(scheduled(prompt), 900) << "alone it has the whole budget";
  Sequence& next = add(900);
  Sequence& last = add(40);
  step();
  EXPECT_EQ(scheduled(prompt), 1);
  EXPECT_EQ(scheduled(next), 128);
  EXPECT_EQ(scheduled(last), 0) << "the threshold is for all prompts of a step";
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(next.num_computed(), 6 * 128);
}

TEST_F(SchedulerTest, RecountFindsTheTruth) {
  init(20, 2, 100);
  Sequence& sequence = add(40);
  step();
  ASSERT_TRUE(blocks_->allocate());  // lost by nobody's fault
  EXPECT_EQ(blocks_->num_free(), 16);
  scheduler_->recount_pools();
  EXPECT_EQ(blocks_->num_free(), 17);
  EXPECT_EQ(slots_->num_free(), 1);
  finish(sequence);
  EXPECT_EQ(blocks_->num_free(), 20);
  EXPECT_EQ(slots_->num_free(), 2);
}

TEST_F(SchedulerTest, RefusesABudgetWithoutRoomForAChunk) {
  EXPECT_THROW(init(10, 4, 64 + 3), InvariantError);
}

}  // namespace
}  // namespace deltaserve
