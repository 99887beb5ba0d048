// Decides what each step computes. Decodes come first: every running sequence that has one token to
// compute gets it, whatever else waits. The rest of the token budget goes to prompts (and to output
// tokens that a preempted sequence replays) in rank order, first of running, then of waiting ones.
//
// A prompt is cut only at absolute multiples of kChunkSize and at its end, so that its bits do not
// depend on the schedule; a piece that does not fit the budget waits for the next step, and prompts
// behind it wait with it. A sequence is admitted by arithmetic: a state slot is free and so are the
// blocks of all its known tokens, beside those that admitted prompts still need. When blocks run
// out the last in rank is preempted. The first in rank is never preempted and moves on every step,
// so every sequence that fits alone comes to its end. Blocks that only the prefix cache holds count
// as free: it gives them up when they are needed.
//
// Choices of one request share its prompt: one of them computes it, the others wait, and at its end
// they become copies of it (forks), as far as slots and blocks allow. Requests that begin alike
// share what they begin with: see PrefixSharing. Who waits for either keeps a slot and blocks free.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/block_pool.h"
#include "cache/state_pool.h"
#include "engine/picture_gate.h"
#include "engine/prefix_cache.h"
#include "engine/prefix_sharing.h"
#include "engine/sequence.h"
#include "engine/step_plan.h"
#include "engine/step_work.h"
#include "engine/waiting_queue.h"

namespace deltaserve {

struct SchedulerOptions {
  int64_t max_num_seqs = 0;
  int64_t max_num_batched_tokens = 0;  // >= kChunkSize + max_num_seqs
  // Prompt tokens of a step beside decodes, at most; >= kChunkSize. 0: the rest of the budget.
  int64_t long_prefill_token_threshold = 0;
  bool fair_share = false;  // see WaitingQueue
};

// Rows of logits that a step gives to prompt logprobs at most: one chunk, because a row is as wide
// as the vocabulary (1 MB at 248k tokens) and all rows are reserved at start.
inline constexpr int32_t kMaxPromptLogprobRows = kChunkSize;

class Scheduler {
 public:
  // Pools, cache and gate must outlive this.
  Scheduler(const SchedulerOptions& options, BlockPool& blocks, StatePool& slots,
            PrefixCache& cache, PictureGate& pictures);

  // The sequence must live until remove(). Its num_tokens() must fit the block pool to its end.
  void add(Sequence& sequence);
  // Forgets a sequence; what it owns is released by Sequence::finish.
  void remove(Sequence& sequence);

  // Plans the next step and reserves what it needs. `plan` is overwritten. Not empty if there is
  // any sequence, unless all there are wait for their pictures.
  void plan(StepPlan& plan);

  // Plans the step behind `before`, which has not ended, as if no sequence ended with it: each
  // computes the token that `before` draws. False, with nothing done, if something speaks against
  // it: a sequence that is not of that kind, one that waits and may have room, or too few blocks.
  // Sequences that are sure to end are left out.
  bool plan_ahead(const StepPlan& before, StepPlan& plan);

  std::span<Sequence* const> running() const { return running_; }  // in rank order
  StepWork decode_work() const;                                    // of the next step
  Sequence* first_waiting() const { return waiting_.first(); }
  int64_t num_waiting() const { return waiting_.size(); }
  // For the steps to come, beside the threshold of the options. A chunk is taken in any case.
  void limit_prompts_beside_decodes(const PromptAllowance& allowance) { allowance_ = allowance; }

  // Counts anew what the running sequences own: see BlockPool::recount.
  void recount_pools();

 private:
  struct RankLess {
    bool operator()(const Sequence* a, const Sequence* b) const { return a->ranks_before(*b); }
  };
  enum class Admission : uint8_t {
    kDone,
    kNoRoom,      // nor is there for those behind it
    kNoPictures,  // it waits for their embeddings
    kForks,       // another choice computes its prompt
    kHeld,        // another request computes its prefix
  };
  struct Budget {
    int64_t tokens = 0;         // left in this step
    int64_t decodes = 0;        // of them, for decodes not yet planned
    PromptAllowance prompts;    // of them, for prompts at most
    bool has_prompt = false;    // a piece of one is planned
    int32_t logprob_rows = 0;   // left in this step
    bool prompts_wait = false;  // a prompt did not fit: those behind it wait too
  };
  // The first that waits and found no room, and how much there was: looking for its prefix again
  // before there is more, or a state to begin with, would find the same.
  struct Refusal {
    const Sequence* sequence = nullptr;
    bool for_blocks = false;
    int64_t room = 0;  // blocks, or tokens behind `context` others
    int64_t context = 0;
    int64_t num_states = 0;
  };

  bool may_admit() const;
  bool follow(const StepPlan& before, StepPlan& plan) const;
  bool reserve_ahead(const StepPlan& plan);
  void plan_running(Budget& budget, StepPlan& plan);
  void plan_waiting(Budget& budget, StepPlan& plan);
  Admission consider(Sequence& sequence, int64_t promised_blocks, Budget& budget, StepPlan& plan);
  Admission admit(Sequence& sequence, int64_t promised_blocks, Budget& budget, StepPlan& plan);
  void plan_forks(StepPlan& plan);
  bool fork(Sequence& leader, Sequence& sequence, int64_t promised_blocks);
  int64_t promised_blocks() const;
  int64_t free_blocks(int64_t promised_blocks) const;
  bool would_refuse_again(const Sequence& sequence, int64_t promised_blocks,
                          const Budget& budget) const;
  bool has_slot(int64_t held) const;
  static int64_t prompt_room(const Budget& budget, int64_t context);
  ScheduledSequence next_piece(Sequence& sequence, const Budget& budget) const;
  bool reserve(Sequence& sequence, int64_t num_tokens, Budget& budget, StepPlan& plan);
  bool can_admit(const Sequence& sequence, int64_t promised_blocks) const;
  void schedule(const ScheduledSequence& piece, Budget& budget, StepPlan& plan);
  PromptAllowance prompts_beside_decodes() const;

  SchedulerOptions options_;
  BlockPool* blocks_;
  StatePool* slots_;
  PrefixCache* cache_;
  PictureGate* pictures_;
  std::vector<Sequence*> running_;  // in rank order
  WaitingQueue waiting_;
  PrefixSharing sharing_;
  PromptAllowance allowance_;
  Refusal refusal_;
  bool has_arrivals_ = false;  // since the last plan()
};

}  // namespace deltaserve
