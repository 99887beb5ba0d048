// Planning of what runs, and preemption.
#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {
namespace {

// A drawn token is to be computed, and forced ones behind it if there are any.
bool is_decode(const Sequence& sequence) {
  const int64_t left = sequence.num_tokens() - sequence.num_computed();
  return !sequence.in_prompt() && left <= 1 + kMaxForcedTokens;
}

// Prompt tokens of the next step: to the end of what is computed in chunks or to the last chunk
// border within `budget`.
int64_t prompt_piece(const Sequence& sequence, int64_t budget) {
  const int64_t begin = sequence.num_computed();
  const int64_t left = sequence.same_way_until(begin) - begin;
  if (left <= budget) return left;
  return (begin + budget) / kChunkSize * kChunkSize - begin;
}

// Row i of a prompt scores token i + 1; rows from this one to the last but one are still wanted.
int64_t first_unscored_row(const Sequence& sequence) {
  return sequence.owner().num_scored - 1;
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, BlockPool& blocks, StatePool& slots,
                     PrefixCache& cache, PictureGate& pictures)
    : options_(options),
      blocks_(&blocks),
      slots_(&slots),
      cache_(&cache),
      pictures_(&pictures),
      waiting_(options.fair_share),
      sharing_(cache) {
  DS_CHECK(options.max_num_seqs >= 1);
  DS_CHECK(options.long_prefill_token_threshold == 0 ||
           options.long_prefill_token_threshold >= kChunkSize);
  DS_CHECK(options.max_num_batched_tokens >= kChunkSize + options.max_num_seqs);
  running_.reserve(static_cast<size_t>(options.max_num_seqs));
}

void Scheduler::add(Sequence& sequence) {
  waiting_.join(sequence);
  waiting_.insert(sequence);
  has_arrivals_ = true;
  sharing_.note_waiting(sequence, running_);
}

void Scheduler::remove(Sequence& sequence) {
  if (!waiting_.erase(sequence)) std::erase(running_, &sequence);
  waiting_.leave(sequence);
  if (refusal_.sequence == &sequence) refusal_ = {};
}

void Scheduler::plan(StepPlan& plan) {
  plan.clear();
  has_arrivals_ = false;
  Budget budget;
  budget.tokens = options_.max_num_batched_tokens;
  budget.decodes = std::ranges::count_if(running_, [](const Sequence* s) { return is_decode(*s); });
  if (budget.decodes > 0) budget.prompts = prompts_beside_decodes();
  budget.logprob_rows = kMaxPromptLogprobRows;
  pictures_->begin_walk();
  plan_running(budget, plan);
  if (plan.num_preemptions == 0) plan_waiting(budget, plan);
  std::ranges::stable_partition(plan.sequences,
                                [](const ScheduledSequence& s) { return s.recurrent; });
  plan_forks(plan);
  cache_->plan_snapshots(plan);
  const bool may_be_empty = waiting_.empty() || pictures_->num_held() > 0;
  DS_CHECK(!plan.sequences.empty() || (running_.empty() && may_be_empty));
}

StepWork Scheduler::decode_work() const {
  StepWork work;
  for (const Sequence* s : running_) {
    if (is_decode(*s)) work.add_decodes(s->num_computed(), s->num_tokens() - s->num_computed());
  }
  return work;
}

PromptAllowance Scheduler::prompts_beside_decodes() const {
  PromptAllowance prompts = allowance_;
  const int64_t threshold = options_.long_prefill_token_threshold;
  if (threshold > 0) prompts.most_tokens = std::min(prompts.most_tokens, threshold);
  return prompts;
}

int64_t Scheduler::prompt_room(const Budget& budget, int64_t context) {
  const int64_t least = budget.has_prompt ? 0 : kChunkSize;
  return std::min(budget.tokens - budget.decodes,
                  std::max<int64_t>(least, budget.prompts.tokens_behind(context)));
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

ScheduledSequence Scheduler::next_piece(Sequence& sequence, const Budget& budget) const {
  ScheduledSequence piece;
  piece.sequence = &sequence;
  const int64_t begin = sequence.num_computed();
  piece.begin = begin;
  piece.recurrent = sequence.is_recurrent(begin);
  const int64_t left = sequence.num_tokens() - begin;
  const int64_t room = prompt_room(budget, begin);
  int64_t count = 0;
  if (is_decode(sequence)) {
    count = std::min(left, 1 + std::max<int64_t>(0, budget.tokens - budget.decodes));
  } else if (piece.recurrent) {
    count = std::min(sequence.same_way_until(begin) - begin, room);
  } else if (sequence.request().prompt_logprobs >= 0) {
    // Every choice of such a request keeps this pace, so that none is ahead of the scoring one.
    count = prompt_piece(sequence, std::min<int64_t>(room, kChunkSize));
  } else {
    count = prompt_piece(sequence, room);
  }
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
  const int64_t end = sequence.num_computed() + num_tokens;
  cache_->make_room(sequence.table(), end);
  while (!sequence.table().reserve_tokens(end)) {
    Sequence& victim = *running_.back();
    if (is_decode(victim)) --budget.decodes;
    waiting_.insert(victim);  // first, so that an exception loses nobody
    running_.pop_back();
    victim.preempt();
    ++plan.num_preemptions;
    if (&victim == &sequence) return false;
    cache_->make_room(sequence.table(), end);
  }
  return true;
}

void Scheduler::schedule(const ScheduledSequence& piece, Budget& budget, StepPlan& plan) {
  budget.tokens -= piece.num_scheduled_tokens;
  if (!is_decode(*piece.sequence)) {
    budget.prompts.take(piece.sequence->num_computed(), piece.num_scheduled_tokens);
    budget.has_prompt = true;
  }
  budget.logprob_rows -= piece.num_prompt_logprobs;
  waiting_.charge(*piece.sequence, piece.num_scheduled_tokens);
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
  // One that was being admitted may share blocks already.
  waiting_.for_each(
      [&tables](const Sequence& sequence) { tables.push_back(sequence.table().blocks()); });
  blocks_->recount(tables);
  slots_->recount(slots);
  cache_->recount();
}

}  // namespace deltaserve
