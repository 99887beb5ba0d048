// Plans of steps whose tokens the step before has not drawn yet.
#include <algorithm>

#include "base/check.h"
#include "engine/scheduler.h"

namespace deltaserve {

// Whether a sequence that waits might find room in the next step. One that found too few blocks and
// would find no more of them keeps those behind it waiting, but for arrivals of a higher rank.
bool Scheduler::may_admit() const {
  if (waiting_.empty() || !has_slot(0)) return false;
  if (has_arrivals_ || refusal_.sequence == nullptr || !refusal_.for_blocks) return true;
  return !would_refuse_again(*refusal_.sequence, promised_blocks(), Budget{});
}

// Adds to the plan what follows the sequences of `before`; false if one that runs is not among
// those that draw a token there, or needs to know it before it draws the next.
bool Scheduler::follow(const StepPlan& before, StepPlan& plan) const {
  if (!before.forks.empty()) return false;
  size_t num_following = 0;
  int32_t row = 0;
  for (const ScheduledSequence& scheduled : before.sequences) {
    row += scheduled.num_prompt_logprobs;
    if (!scheduled.samples) continue;
    const int32_t drawn_row = row++;
    Sequence& sequence = *scheduled.sequence;
    if (sequence.status() != SequenceStatus::kRunning) continue;
    if (!sequence.sampler().can_draw_ahead()) return false;
    ++num_following;
    if (sequence.sampler().ends_with_next()) continue;
    plan.sequences.push_back({.sequence = &sequence,
                              .begin = scheduled.end(),
                              .num_scheduled_tokens = 1,
                              .recurrent = true,
                              .samples = true,
                              .drawn_row = drawn_row});
  }
  return num_following == running_.size();
}

// Takes the blocks of the plan's tokens; false if there are too few, with none taken.
bool Scheduler::reserve_ahead(const StepPlan& plan) {
  int64_t missing = 0;
  for (const ScheduledSequence& scheduled : plan.sequences) {
    missing += blocks_for_tokens(scheduled.end()) - scheduled.sequence->table().num_blocks();
  }
  if (missing > blocks_->num_free() + blocks_->num_reclaimable()) return false;
  cache_->make_room(missing);
  for (const ScheduledSequence& scheduled : plan.sequences) {
    DS_CHECK(scheduled.sequence->table().reserve_tokens(scheduled.end()));
  }
  return true;
}

bool Scheduler::plan_ahead(const StepPlan& before, StepPlan& plan) {
  plan.clear();
  const bool follows = !may_admit() && follow(before, plan) && !plan.sequences.empty();
  // Who waits takes the place of a sequence that ends at once.
  const bool all_go_on = plan.sequences.size() == running_.size() || waiting_.empty();
  if (!follows || !all_go_on || !reserve_ahead(plan)) {
    plan.clear();
    return false;
  }
  plan.num_tokens = static_cast<int32_t>(plan.sequences.size());
  for (const ScheduledSequence& scheduled : plan.sequences) waiting_.charge(*scheduled.sequence, 1);
  cache_->plan_snapshots(plan);
  return true;
}

}  // namespace deltaserve
