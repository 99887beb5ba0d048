// Counts, bans and stop rules of one sequence.
#include "engine/sampler_state.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace deltaserve {

SamplerState::SamplerState(const Request& request, int32_t choice, int32_t vocab_size)
    : request_(&request) {
  const SamplingParams& sampling = request.sampling;
  DS_CHECK(sampling.seed.has_value());
  seed_ = *sampling.seed + static_cast<uint64_t>(choice);
  counts_prompt_ = sampling.repetition_penalty != 1.0F;
  counts_output_ =
      counts_prompt_ || sampling.frequency_penalty != 0.0F || sampling.presence_penalty != 0.0F;
  if (counts_prompt_) count_prompt();
  if (sampling.thinking_budget) thinking_.emplace(*sampling.thinking_budget, vocab_size);
  const auto in_vocab = [vocab_size](int32_t token) { return token >= 0 && token < vocab_size; };
  std::ranges::copy_if(sampling.banned_token_ids, std::back_inserter(banned_), in_vocab);
  num_always_banned_ = static_cast<int32_t>(banned_.size());
  if (!sampling.ignore_eos) {
    std::ranges::copy_if(request.eos_token_ids, std::back_inserter(banned_), in_vocab);
  }
  num_banned_with_ends_ = static_cast<int32_t>(banned_.size());
  std::ranges::copy_if(sampling.stop_token_ids, std::back_inserter(banned_), in_vocab);
  if (sampling.grammar) {
    // A token that may be banned is never forced.
    const GrammarVocabulary& vocabulary = sampling.grammar->grammar->vocabulary();
    const bool forces = std::ranges::all_of(
        banned_, [&](int32_t token) { return vocabulary.bytes(token).empty(); });
    grammar_.emplace(*sampling.grammar, forces);
  }
}

void SamplerState::count_prompt() {
  for (const int32_t token : request_->prompt_token_ids) {
    if (count_index_.try_emplace(token, counts_.size()).second) {
      counts_.push_back({.token = token, .in_output = 0});
    }
  }
}

SamplingRow SamplerState::next_row(int32_t drawn_row) const {
  const bool ahead = drawn_row >= 0;
  DS_CHECK(!ahead || can_draw_ahead());
  const SamplingParams& sampling = request_->sampling;
  SamplingRow row;
  row.temperature = sampling.temperature;
  row.top_p = sampling.top_p;
  row.top_k = sampling.top_k;
  row.min_p = sampling.min_p;
  row.repetition_penalty = sampling.repetition_penalty;
  row.frequency_penalty = sampling.frequency_penalty;
  row.presence_penalty = sampling.presence_penalty;
  row.seed = seed_;
  row.position = num_output_ + (ahead ? 1 : 0);
  row.counts = counts_.data();
  row.num_counts = static_cast<int32_t>(counts_.size());
  if (counts_output_) row.drawn_row = drawn_row;
  row.logit_bias = sampling.logit_bias.data();
  row.num_logit_bias = static_cast<int32_t>(sampling.logit_bias.size());
  row.banned = banned_.data();
  row.num_banned = num_banned(row.position);
  if (grammar_ && !grammar_->waits()) row.allowed = grammar_->mask();
  // A forced token comes whatever is banned.
  if (thinking_ && thinking_->forces()) {
    row.allowed = thinking_->only_forced();
    row.num_banned = 0;
  }
  row.num_logprobs = sampling.num_logprobs;
  return row;
}

std::optional<int32_t> SamplerState::forced_token() const {
  const bool drawn =
      !grammar_ || request_->sampling.num_logprobs >= 0 || (thinking_ && thinking_->forces());
  return drawn ? std::nullopt : grammar_->forced();
}

int32_t SamplerState::num_banned(int64_t position) const {
  if (position < request_->sampling.min_tokens) return static_cast<int32_t>(banned_.size());
  return grammar_ && grammar_->waits() ? num_banned_with_ends_ : num_always_banned_;
}

void SamplerState::record(int32_t token) {
  ++num_output_;
  if (thinking_) thinking_->record(token);
  if (grammar_) grammar_->record(token);
  if (!counts_output_) return;
  const auto [entry, is_new] = count_index_.try_emplace(token, counts_.size());
  if (is_new) counts_.push_back({.token = token, .in_output = 0});
  ++counts_[entry->second].in_output;
}

bool SamplerState::is_stop_token(int32_t token) const {
  const auto has = [token](const std::vector<int32_t>& ids) {
    return std::ranges::find(ids, token) != ids.end();
  };
  const SamplingParams& sampling = request_->sampling;
  return has(sampling.stop_token_ids) || (!sampling.ignore_eos && has(request_->eos_token_ids));
}

std::optional<FinishReason> SamplerState::finish_after(int32_t token) const {
  if (is_stop_token(token) || (grammar_ && grammar_->ended())) return FinishReason::kStop;
  if (num_output_ >= request_->sampling.max_tokens) return FinishReason::kLength;
  return std::nullopt;
}

}  // namespace deltaserve
