// Which waiting sequences a step begins, and what each needs for it: a slot, blocks beside those
// promised to others, room for a piece of its prompt, the embeddings of its pictures.
#include <algorithm>

#include "base/check.h"
#include "engine/scheduler.h"

namespace deltaserve {
namespace {

// Share of the blocks that admission leaves free, so that running sequences can grow a while before
// one of them must be preempted: 1 %, as the field has it.
constexpr int64_t kWatermarkDivisor = 100;

// Whether another choice computes the prompt that this one begins with.
bool waits_for_fork(const Sequence& sequence) {
  return sequence.owner().prefilling != nullptr && !sequence.has_output();
}

// Blocks that the known tokens need beyond those in the table.
int64_t missing_blocks(const Sequence& sequence) {
  return blocks_for_tokens(sequence.num_tokens()) - sequence.table().num_blocks();
}

}  // namespace

int64_t Scheduler::promised_blocks() const {
  int64_t promised = 0;
  for (const Sequence* sequence : running_) promised += missing_blocks(*sequence);
  return promised;
}

bool Scheduler::has_slot(int64_t held) const {
  return slots_->num_free() > held &&
         static_cast<int64_t>(running_.size()) + held < options_.max_num_seqs;
}

void Scheduler::plan_waiting(Budget& budget, StepPlan& plan) {
  int64_t promised = promised_blocks();
  int64_t held = 0;  // slots for those that wait for another's prompt
  waiting_.begin_walk();
  while (!budget.prompts_wait && has_slot(held)) {
    Sequence* const next = waiting_.next();
    if (next == nullptr) return;
    const Admission admission = consider(*next, promised, budget, plan);
    if (admission == Admission::kNoRoom) return;
    if (admission == Admission::kDone) {
      promised += missing_blocks(*next);
      continue;
    }
    waiting_.pass_over(*next);
    if (admission == Admission::kNoPictures) continue;
    ++held;
    promised += admission == Admission::kForks ? 1 : PrefixSharing::blocks_to_come(*next);
  }
}

// In the order of what costs least to find out.
Scheduler::Admission Scheduler::consider(Sequence& sequence, int64_t promised_blocks,
                                         Budget& budget, StepPlan& plan) {
  if (waits_for_fork(sequence)) return Admission::kForks;
  if (sharing_.holds(sequence, running_)) return Admission::kHeld;
  if (pictures_->holds(sequence)) return Admission::kNoPictures;
  if (would_refuse_again(sequence, promised_blocks, budget)) return Admission::kNoRoom;
  return admit(sequence, promised_blocks, budget, plan);
}

int64_t Scheduler::free_blocks(int64_t promised_blocks) const {
  return blocks_->num_free() + blocks_->num_reclaimable() - promised_blocks;
}

bool Scheduler::would_refuse_again(const Sequence& sequence, int64_t promised_blocks,
                                   const Budget& budget) const {
  if (running_.empty() || refusal_.sequence != &sequence) return false;
  if (cache_->num_states_kept() != refusal_.num_states) return false;
  return (refusal_.for_blocks ? free_blocks(promised_blocks)
                              : prompt_room(budget, refusal_.context)) <= refusal_.room;
}

// Looks for the sequence's prefix first, since what it takes from the cache it need not be given.
Scheduler::Admission Scheduler::admit(Sequence& sequence, int64_t promised_blocks, Budget& budget,
                                      StepPlan& plan) {
  PrefixNode* const found = cache_->adopt(sequence);
  if (!pictures_->admits(sequence)) {
    cache_->let_go(sequence);
    return Admission::kNoPictures;
  }
  const ScheduledSequence piece = next_piece(sequence, budget);
  const bool has_blocks = can_admit(sequence, promised_blocks);
  if (!has_blocks || piece.num_scheduled_tokens == 0) {
    const int64_t context = sequence.num_computed();
    cache_->let_go(sequence);
    refusal_ = {.sequence = &sequence,
                .for_blocks = !has_blocks,
                .room = has_blocks ? prompt_room(budget, context) : free_blocks(promised_blocks),
                .context = context,
                .num_states = cache_->num_states_kept()};
    // Rows of prompt logprobs are a budget of their own.
    if (sequence.scores_prompt()) refusal_ = {};
    return Admission::kNoRoom;
  }
  refusal_ = {};
  if (sharing_.hold(sequence, running_)) {
    cache_->let_go(sequence);
    return Admission::kHeld;
  }
  waiting_.erase(sequence);
  running_.insert(std::ranges::upper_bound(running_, &sequence, RankLess{}), &sequence);
  sequence.admit(slots_->acquire().value());
  const int64_t end = sequence.num_computed() + piece.num_scheduled_tokens;
  cache_->make_room(sequence.table(), end);
  DS_CHECK(sequence.table().reserve_tokens(end));
  cache_->start(sequence, found, plan);
  sharing_.note_running(sequence, waiting_);
  schedule(piece, budget, plan);
  return Admission::kDone;
}

void Scheduler::plan_forks(StepPlan& plan) {
  int64_t promised = -1;
  for (ScheduledSequence& scheduled : plan.sequences) {
    Sequence& leader = *scheduled.sequence;
    const RequestState& request = leader.owner();
    const int64_t end = scheduled.end();
    if (request.choices.size() < 2 || scheduled.recurrent || end != leader.prompt_len()) continue;
    if (promised < 0) promised = promised_blocks();
    for (const std::unique_ptr<Sequence>& choice : request.choices) {
      const bool waits = choice->status() == SequenceStatus::kWaiting ||
                         choice->status() == SequenceStatus::kPreempted;
      if (!waits || choice->has_output()) continue;
      if (!fork(leader, *choice, promised)) break;
      plan.forks.push_back(choice.get());
      ++scheduled.num_forks;
    }
  }
}

bool Scheduler::fork(Sequence& leader, Sequence& sequence, int64_t promised_blocks) {
  if (!has_slot(0)) return false;
  const int64_t full = leader.prompt_len() / kBlockSize;
  const int64_t needed = blocks_for_tokens(leader.prompt_len()) - full;
  const int64_t watermark = std::max<int64_t>(1, blocks_->num_blocks() / kWatermarkDivisor);
  if (needed + promised_blocks + watermark > blocks_->num_free() + blocks_->num_reclaimable()) {
    return false;
  }
  cache_->make_room(needed);
  waiting_.erase(sequence);
  running_.insert(std::ranges::upper_bound(running_, &sequence, RankLess{}), &sequence);
  DS_CHECK(sequence.fork(leader, slots_->acquire().value()));
  return true;
}

bool Scheduler::can_admit(const Sequence& sequence, int64_t promised_blocks) const {
  // With nothing running there is nothing to leave room for, and what fits alone must start.
  const int64_t watermark =
      running_.empty() ? 0 : std::max<int64_t>(1, blocks_->num_blocks() / kWatermarkDivisor);
  return missing_blocks(sequence) + watermark <= free_blocks(promised_blocks);
}

}  // namespace deltaserve
