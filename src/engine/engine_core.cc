// Requests in, and what becomes of the results of steps.
#include "engine/engine_core.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/check.h"

namespace deltaserve {
namespace {

// Threads that make masks. A mask takes 3 us, and 1 ms at worst, where a step takes milliseconds:
// one thread keeps up with a batch, and grammars have a lock each.
constexpr int32_t kMaskThreads = 1;

uint64_t draw_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32U) | device();
}

Error outgrown_error() {
  return {ErrorCode::kInvalidArgument,
          "the answer needs more states of its grammar than it may have",
          {},
          {}};
}

TokenLogprob to_logprob(const SampledToken& sampled) {
  return {.token = sampled.token, .logprob = sampled.logprob, .top = sampled.top};
}

}  // namespace

EngineCore::EngineCore(const CoreOptions& options, ModelRunner& runner)
    : vocab_size_(options.vocab_size),
      placeholders_(options.placeholders),
      max_num_seqs_(options.scheduler.max_num_seqs),
      max_num_batched_tokens_(options.scheduler.max_num_batched_tokens),
      state_slot_bytes_(options.state_slot_bytes),
      runner_(&runner),
      blocks_(options.num_blocks),
      slots_(options.num_state_slots),
      snapshots_(options.num_snapshots, options.num_state_slots),
      cache_(options.prefix_cache, blocks_, snapshots_, runner.transfer()),
      encoded_(runner.vision()),
      pictures_(encoded_),
      scheduler_(options.scheduler, blocks_, slots_, cache_, pictures_),
      pace_(options.inter_token_target_seconds),
      clock_(options.clock),
      async_scheduling_(options.async_scheduling && runner.runs_ahead()),
      masks_(kMaskThreads) {
  runner_->on_draw([this] { masks_.wait(); });
}

void EngineCore::add(RequestId id, Request request, RequestTimes::Clock::time_point submitted) {
  auto state = std::make_unique<RequestState>();
  state->id = id;
  state->times.submitted = submitted;
  state->request = std::move(request);
  state->layout = PromptLayout::make(state->request.prompt_token_ids, state->request.vision_items,
                                     placeholders_)
                      .value();
  SamplingParams& sampling = state->request.sampling;
  if (!sampling.seed) sampling.seed = draw_seed();
  state->num_unfinished = sampling.n;
  if (state->request.prompt_logprobs >= 0) {
    state->prompt_logprobs.emplace_back(std::nullopt);
    state->num_scored = 1;
  }
  for (int32_t i = 0; i < sampling.n; ++i) {
    state->choices.push_back(
        std::make_unique<Sequence>(*state, i, next_arrival_++, blocks_, vocab_size_));
  }
  const auto [entry, is_new] = requests_.try_emplace(id, std::move(state));
  DS_CHECK(is_new, "a request id came twice");
  for (const auto& sequence : entry->second->choices) scheduler_.add(*sequence);
}

void EngineCore::abort(RequestId id) {
  const auto entry = requests_.find(id);
  if (entry == requests_.end()) return;
  for (const auto& sequence : entry->second->choices) {
    if (sequence->status() != SequenceStatus::kFinished) {
      end_choice(*sequence, FinishReason::kAbort);
    }
  }
  forget_ended();
}

void EngineCore::abort_choice(RequestId id, int32_t index) {
  const auto entry = requests_.find(id);
  if (entry == requests_.end()) return;
  const auto& choices = entry->second->choices;
  if (index < 0 || static_cast<size_t>(index) >= choices.size()) return;
  Sequence& sequence = *choices[static_cast<size_t>(index)];
  if (sequence.status() == SequenceStatus::kFinished) return;
  end_choice(sequence, FinishReason::kAbort);
  forget_ended();
}

void EngineCore::abort_all() {
  std::vector<RequestId> ids;
  ids.reserve(requests_.size());
  for (const auto& [id, request] : requests_) ids.push_back(id);
  for (const RequestId id : ids) abort(id);
}

void EngineCore::commit_step(EngineStep& step) {
  const SampledToken* sampled = step.sampled.data();
  std::span<PlannedSnapshot> snapshots = step.plan.snapshots;
  std::span<Sequence* const> forks = step.plan.forks;
  for (const ScheduledSequence& scheduled : step.plan.sequences) {
    const auto num_snapshots = static_cast<size_t>(scheduled.num_snapshots);
    const auto num_forks = static_cast<size_t>(scheduled.num_forks);
    // A sequence may have ended in this loop, where another choice's failure ends the whole
    // request, or while the step ran.
    if (scheduled.sequence->status() == SequenceStatus::kRunning) {
      commit_sequence(scheduled, sampled, snapshots.first(num_snapshots), forks.first(num_forks));
    }
    sampled += scheduled.num_prompt_logprobs + (scheduled.samples ? 1 : 0) + scheduled.num_forks;
    snapshots = snapshots.subspan(num_snapshots);
    forks = forks.subspan(num_forks);
  }
  step.plan.snapshots.clear();  // those that found no place give their slots back
}

void EngineCore::commit_sequence(const ScheduledSequence& scheduled, const SampledToken* sampled,
                                 std::span<PlannedSnapshot> snapshots,
                                 std::span<Sequence* const> forks) {
  Sequence& sequence = *scheduled.sequence;
  DS_CHECK(sequence.num_computed() == scheduled.begin);
  sequence.mark_computed(scheduled.num_scheduled_tokens);
  cache_.commit(sequence, snapshots);
  for (Sequence* fork : forks) fork->finish_fork(sequence, cache_.index());
  if (!commit_prompt_logprobs(scheduled, sampled)) return;
  sampled += scheduled.num_prompt_logprobs;
  if (scheduled.samples) commit_token(sequence, *sampled++);
  for (Sequence* fork : forks) {
    if (fork->status() == SequenceStatus::kRunning) commit_token(*fork, *sampled);
    ++sampled;
  }
}

bool EngineCore::commit_prompt_logprobs(const ScheduledSequence& scheduled,
                                        const SampledToken* sampled) {
  RequestState& request = scheduled.sequence->owner();
  for (int32_t k = 0; k < scheduled.num_prompt_logprobs; ++k) {
    if (!sampled[k].finite) {
      fail_non_finite(request);
      return false;
    }
    request.prompt_logprobs.emplace_back(to_logprob(sampled[k]));
    ++request.num_scored;
  }
  return true;
}

void EngineCore::commit_token(Sequence& sequence, const SampledToken& sampled) {
  RequestState& request = sequence.owner();
  if (!sampled.finite && sequence.sampler().outgrown()) {
    fail_request(request, outgrown_error());
    return;
  }
  if (!sampled.finite) {
    fail_non_finite(request);
    return;
  }
  DS_CHECK(sampled.token >= 0 && sampled.token < vocab_size_);
  sequence.append(sampled.token);
  ++totals_.generation_tokens;
  if (!std::exchange(request.prompt_counted, true)) {
    totals_.prompt_tokens += sequence.prompt_len();
    request.times.first_token = now();
  }
  if (sequence.scores_prompt() && !request.prompt_logprobs.empty()) {
    output_of(request).prompt_logprobs = std::exchange(request.prompt_logprobs, {});
  }
  if (request.request.sampling.num_logprobs >= 0) {
    output_of(sequence).logprobs.push_back(to_logprob(sampled));
  }
  report_token(sequence, sampled.token);
  commit_forced(sequence);
}

// They are computed in the next step, one by one as drawn tokens are, so that its bits and all
// draws behind them are those of a sequence that drew them.
void EngineCore::commit_forced(Sequence& sequence) {
  for (int64_t i = 0; i < kMaxForcedTokens; ++i) {
    if (sequence.status() == SequenceStatus::kFinished) return;
    const std::optional<int32_t> token = sequence.sampler().forced_token();
    if (!token) return;
    sequence.append_forced(*token);
    ++totals_.generation_tokens;
    report_token(sequence, *token);
  }
}

// Of a token that the sequence has: adds it to the outputs and ends the sequence if it is the last.
void EngineCore::report_token(Sequence& sequence, int32_t token) {
  ChoiceOutput& output = output_of(sequence);
  output.token_ids.push_back(token);
  const std::optional<FinishReason> reason = sequence.sampler().finish_after(token);
  if (!reason) return;
  if (sequence.sampler().is_stop_token(token)) output.stop_token = token;
  end_choice(sequence, *reason);
}

}  // namespace deltaserve
