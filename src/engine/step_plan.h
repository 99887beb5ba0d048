// What one step computes: for each sequence in it how many tokens from its first uncomputed one, in
// which way, and which rows of logits are wanted. Blocks and state slot are reserved in the
// sequence.
#pragma once

#include <cstdint>
#include <vector>

namespace deltaserve {

class Sequence;

struct ScheduledSequence {
  Sequence* sequence = nullptr;
  int32_t num_scheduled_tokens = 0;
  bool recurrent = false;           // output tokens, one by one; else prompt tokens, in chunks
  bool samples = false;             // the last row's logits give a new token
  int32_t num_prompt_logprobs = 0;  // further rows: see first_prompt_logprob
  // Index in the sequence of the first row that scores the prompt token after it.
  int64_t first_prompt_logprob = 0;
};

struct StepPlan {
  std::vector<ScheduledSequence> sequences;  // decodes first
  int32_t num_tokens = 0;
  int32_t num_preemptions = 0;
};

}  // namespace deltaserve
