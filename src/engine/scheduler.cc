// Planning, admission and preemption.
#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {
namespace {

// Share of the blocks that admission leaves free, so that running sequences can grow a while before
// one of them must be preempted: 1 %, as the field has it.
constexpr int64_t kWatermarkDivisor = 100;

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

// Whether another choice computes the prompt that this one begins with.
bool waits_for_fork(const Sequence& sequence) {
  return sequence.owner().prefilling != nullptr && !sequence.has_output();
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

bool Scheduler::can_admit(const Sequence& sequence, int64_t promised_blocks) const {
  // With nothing running there is nothing to leave room for, and what fits alone must start.
  const int64_t watermark =
      running_.empty() ? 0 : std::max<int64_t>(1, blocks_->num_blocks() / kWatermarkDivisor);
  return missing_blocks(sequence) + watermark <= free_blocks(promised_blocks);
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
