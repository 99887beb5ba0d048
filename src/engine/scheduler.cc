// Planning, admission and preemption.
#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {
namespace {

// Share of the blocks that admission leaves free, so that running sequences can grow a while before
// one of them must be preempted: 1 %, as the field has it.
constexpr int64_t kWatermarkDivisor = 100;

bool is_decode(const Sequence& sequence) {
  return !sequence.in_prompt() && sequence.num_tokens() - sequence.num_computed() == 1;
}

// Prompt tokens of the next step: to the prompt's end or to the last chunk border within `budget`.
int64_t prompt_piece(const Sequence& sequence, int64_t budget) {
  const int64_t begin = sequence.num_computed();
  const int64_t left = sequence.prompt_len() - begin;
  if (left <= budget) return left;
  return (begin + budget) / kChunkSize * kChunkSize - begin;
}

// Row i of a prompt scores token i + 1; rows from this one to the last but one are still wanted.
int64_t first_unscored_row(const Sequence& sequence) {
  return sequence.owner().num_scored - 1;
}

// Blocks that the known tokens need beyond those in the table.
int64_t missing_blocks(const Sequence& sequence) {
  return blocks_for_tokens(sequence.num_tokens()) - sequence.table().num_blocks();
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, BlockPool& blocks, StatePool& slots)
    : options_(options), blocks_(&blocks), slots_(&slots) {
  DS_CHECK(options.max_num_seqs >= 1);
  DS_CHECK(options.max_num_batched_tokens >= kChunkSize + options.max_num_seqs);
  running_.reserve(static_cast<size_t>(options.max_num_seqs));
}

void Scheduler::add(Sequence& sequence) {
  waiting_.insert(&sequence);
}

void Scheduler::remove(Sequence& sequence) {
  if (waiting_.erase(&sequence) == 0) std::erase(running_, &sequence);
}

void Scheduler::plan(StepPlan& plan) {
  plan.sequences.clear();
  plan.num_tokens = 0;
  plan.num_preemptions = 0;
  Budget budget;
  budget.tokens = options_.max_num_batched_tokens;
  budget.decodes = std::ranges::count_if(running_, [](const Sequence* s) { return is_decode(*s); });
  budget.logprob_rows = kMaxPromptLogprobRows;
  plan_running(budget, plan);
  if (plan.num_preemptions == 0) plan_waiting(budget, plan);
  std::ranges::stable_partition(plan.sequences,
                                [](const ScheduledSequence& s) { return s.recurrent; });
  DS_CHECK(!plan.sequences.empty() || (running_.empty() && waiting_.empty()));
}

void Scheduler::plan_running(Budget& budget, StepPlan& plan) {
  // Victims are taken from the back, behind the sequence being planned: what stands in the plan
  // stays in it.
  for (size_t i = 0; i < running_.size(); ++i) {
    Sequence& sequence = *running_[i];
    const bool decode = is_decode(sequence);
    if (!decode && budget.prompts_wait) continue;
    const ScheduledSequence piece = next_piece(sequence, budget);
    if (piece.num_scheduled_tokens == 0) {
      budget.prompts_wait = true;
      continue;
    }
    if (!reserve(sequence, piece.num_scheduled_tokens, budget, plan)) return;
    if (decode) --budget.decodes;
    schedule(piece, budget, plan);
  }
}

void Scheduler::plan_waiting(Budget& budget, StepPlan& plan) {
  int64_t promised = 0;
  for (const Sequence* sequence : running_) promised += missing_blocks(*sequence);
  while (!waiting_.empty() && !budget.prompts_wait) {
    Sequence& sequence = **waiting_.begin();
    if (!can_admit(sequence, promised)) return;
    const ScheduledSequence piece = next_piece(sequence, budget);
    if (piece.num_scheduled_tokens == 0) return;
    waiting_.erase(waiting_.begin());
    running_.insert(std::ranges::upper_bound(running_, &sequence, RankLess{}), &sequence);
    sequence.admit(slots_->acquire().value());
    DS_CHECK(sequence.table().reserve_tokens(piece.num_scheduled_tokens));
    promised += missing_blocks(sequence);
    schedule(piece, budget, plan);
  }
}

ScheduledSequence Scheduler::next_piece(Sequence& sequence, const Budget& budget) const {
  ScheduledSequence piece;
  piece.sequence = &sequence;
  piece.recurrent = !sequence.in_prompt();
  const int64_t left = sequence.num_tokens() - sequence.num_computed();
  int64_t count = 0;
  if (is_decode(sequence)) {
    count = 1;
  } else if (piece.recurrent) {
    count = std::min(left, budget.tokens - budget.decodes);
  } else if (sequence.request().prompt_logprobs >= 0) {
    // Every choice of such a request keeps this pace, so that none is ahead of the scoring one.
    count = prompt_piece(sequence, std::min<int64_t>(budget.tokens - budget.decodes, kChunkSize));
  } else {
    count = prompt_piece(sequence, budget.tokens - budget.decodes);
  }
  const int64_t begin = sequence.num_computed();
  if (sequence.scores_prompt() && sequence.in_prompt()) {
    const int64_t end = std::min(begin + count, sequence.prompt_len() - 1);
    piece.first_prompt_logprob = std::max(begin, first_unscored_row(sequence));
    const int64_t rows = std::max<int64_t>(0, end - piece.first_prompt_logprob);
    if (rows > budget.logprob_rows) count = 0;
    piece.num_prompt_logprobs = static_cast<int32_t>(rows);
  }
  piece.num_scheduled_tokens = static_cast<int32_t>(count);
  piece.samples = count == left;
  return piece;
}

bool Scheduler::reserve(Sequence& sequence, int64_t num_tokens, Budget& budget, StepPlan& plan) {
  while (!sequence.table().reserve_tokens(sequence.num_computed() + num_tokens)) {
    Sequence& victim = *running_.back();
    if (is_decode(victim)) --budget.decodes;
    waiting_.insert(&victim);  // first, so that an exception loses nobody
    running_.pop_back();
    victim.preempt();
    ++plan.num_preemptions;
    if (&victim == &sequence) return false;
  }
  return true;
}

bool Scheduler::can_admit(const Sequence& sequence, int64_t promised_blocks) const {
  if (slots_->num_free() == 0) return false;
  if (static_cast<int64_t>(running_.size()) >= options_.max_num_seqs) return false;
  // With nothing running there is nothing to leave room for, and what fits alone must start.
  const int64_t watermark =
      running_.empty() ? 0 : std::max<int64_t>(1, blocks_->num_blocks() / kWatermarkDivisor);
  return missing_blocks(sequence) + promised_blocks + watermark <= blocks_->num_free();
}

void Scheduler::schedule(const ScheduledSequence& piece, Budget& budget, StepPlan& plan) {
  budget.tokens -= piece.num_scheduled_tokens;
  budget.logprob_rows -= piece.num_prompt_logprobs;
  plan.num_tokens += piece.num_scheduled_tokens;
  plan.sequences.push_back(piece);
}

void Scheduler::recount_pools() {
  std::vector<std::span<const int32_t>> tables;
  std::vector<int32_t> slots;
  for (const Sequence* sequence : running_) {
    tables.push_back(sequence->table().blocks());
    if (sequence->slot()) slots.push_back(sequence->slot()->id());
  }
  blocks_->recount(tables);
  slots_->recount(slots);
}

}  // namespace deltaserve
