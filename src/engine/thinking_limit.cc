// ThinkingLimit: four states, from the first token to the closed thought.
#include "engine/thinking_limit.h"

#include "base/check.h"

namespace deltaserve {

ThinkingLimit::ThinkingLimit(const ThinkingBudget& budget, int32_t vocab_size)
    : budget_(&budget),
      vocab_size_(vocab_size),
      state_(budget.open ? State::kThought : State::kBefore) {
  DS_CHECK(!budget.closing.empty());
  if (budget.open) check_budget();
}

void ThinkingLimit::record(int32_t token) {
  switch (state_) {
    case State::kBefore:
      state_ = token == budget_->open_token ? State::kThought : State::kOver;
      if (state_ == State::kThought) check_budget();
      break;
    case State::kThought:
      ++num_tokens_;
      if (token == budget_->close_token) {
        state_ = State::kOver;
      } else {
        check_budget();
      }
      break;
    case State::kClosing:
      DS_CHECK(token == budget_->closing[num_forced_]);
      word_of(token) = 0;
      ++num_forced_;
      force_next();
      break;
    case State::kOver:
      break;
  }
}

void ThinkingLimit::check_budget() {
  if (num_tokens_ < budget_->num_tokens) return;
  state_ = State::kClosing;
  mask_.assign((static_cast<size_t>(vocab_size_) + 63) / 64, 0);
  force_next();
}

void ThinkingLimit::force_next() {
  if (num_forced_ == budget_->closing.size()) {
    state_ = State::kOver;
    mask_ = {};
    return;
  }
  const int32_t token = budget_->closing[num_forced_];
  word_of(token) = bit_of(token);
}

}  // namespace deltaserve
