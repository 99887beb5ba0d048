// What one step computes: for each sequence in it how many tokens from its first uncomputed one, in
// which way, and which rows of logits are wanted. Blocks and state slot are reserved in the
// sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/state_pool.h"
#include "model/batch.h"

namespace deltaserve {

class Sequence;

struct ScheduledSequence {
  Sequence* sequence = nullptr;
  int64_t begin = 0;  // the first token computed: as many are before the step
  int32_t num_scheduled_tokens = 0;
  bool recurrent = false;           // output tokens, one by one; else prompt tokens, in chunks
  bool samples = false;             // the last row's logits give a new token
  int32_t num_prompt_logprobs = 0;  // further rows: see first_prompt_logprob
  // Index in the sequence of the first row that scores the prompt token after it.
  int64_t first_prompt_logprob = 0;
  int32_t num_forks = 0;      // its part of StepPlan::forks
  int32_t num_snapshots = 0;  // its part of StepPlan::snapshots
  // >= 0: its one token is what this row of the step before draws, which has not ended.
  int32_t drawn_row = -1;

  int64_t end() const { return begin + num_scheduled_tokens; }
};

// The state after the first `position` tokens of a sequence, to be kept in a slot of the cache.
struct PlannedSnapshot {
  int64_t position = 0;  // a multiple of kChunkSize
  StateSlot slot;
};

struct StepPlan {
  std::vector<ScheduledSequence> sequences;  // decodes first
  // In the order of `sequences`; those of one sequence by position.
  std::vector<PlannedSnapshot> snapshots;
  // Choices that become copies of one in `sequences` and draw a token from its last row.
  std::vector<Sequence*> forks;
  std::vector<StateCopy> restores;  // snapshots into the slots of sequences that are resumed
  int32_t num_tokens = 0;
  int32_t num_preemptions = 0;
  int64_t num_recomputed_tokens = 0;  // that sequences admitted now had computed before

  void clear() {
    sequences.clear();
    snapshots.clear();
    forks.clear();
    restores.clear();
    num_tokens = 0;
    num_preemptions = 0;
    num_recomputed_tokens = 0;
  }
};

}  // namespace deltaserve
