// A state behind every token, so that tokens are taken back by forgetting states.
#include "engine/grammar_limit.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {

GrammarLimit::GrammarLimit(const GrammarRule& rule)
    : rule_(&rule),
      states_{rule.after_token ? kWaits : rule.grammar->start()},
      mask_(rule.grammar->vocabulary().num_words(), 0) {
  settle();
}

void GrammarLimit::record(int32_t token) {
  states_.push_back(follow(states_.back(), token));
  settle();
}

void GrammarLimit::rollback(int64_t count) {
  DS_CHECK(count >= 0 && static_cast<size_t>(count) < states_.size(),
           "more tokens are taken back than were recorded");
  states_.resize(states_.size() - static_cast<size_t>(count));
  settle();
}

GrammarLimit::State GrammarLimit::follow(State state, int32_t token) const {
  if (state == kWaits) {
    return token == rule_->after_token ? rule_->grammar->start() : kWaits;
  }
  if (state == Grammar::kDead) {
    return state;
  }
  try {
    return rule_->grammar->advance(state, token);
  } catch (const GrammarTooComplex&) {
    return Grammar::kDead;
  }
}

void GrammarLimit::settle() {
  const State state = states_.back();
  made_ = false;
  ended_ = state != kWaits && state != Grammar::kDead && rule_->grammar->must_end(state);
}

void GrammarLimit::make_mask() {
  const State state = states_.back();
  DS_CHECK(state != kWaits, "a mask before the grammar begins");
  std::ranges::fill(mask_, 0);
  made_ = true;
  if (state == Grammar::kDead) return;
  try {
    rule_->grammar->fill_mask(state, mask_);
  } catch (const GrammarTooComplex&) {
    std::ranges::fill(mask_, 0);
  }
}

}  // namespace deltaserve
