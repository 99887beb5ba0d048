// The mask of the next token is computed when the last one is recorded.
#include "engine/grammar_limit.h"

#include <algorithm>

namespace deltaserve {

GrammarLimit::GrammarLimit(const GrammarRule& rule)
    : rule_(&rule),
      waits_(rule.after_token.has_value()),
      mask_(rule.grammar->vocabulary().num_words(), 0) {
  if (!waits_) enter(rule.grammar->start());
}

void GrammarLimit::record(int32_t token) {
  if (!waits_) {
    follow(token);
  } else if (token == rule_->after_token) {
    waits_ = false;
    enter(rule_->grammar->start());
  }
}

void GrammarLimit::follow(int32_t token) {
  if (state_ == Grammar::kDead) return;
  try {
    enter(rule_->grammar->advance(state_, token));
  } catch (const GrammarTooComplex&) {
    enter(Grammar::kDead);
  }
}

void GrammarLimit::enter(Grammar::State state) {
  state_ = state;
  std::ranges::fill(mask_, 0);
  if (state == Grammar::kDead) return;
  try {
    rule_->grammar->fill_mask(state, mask_);
    ended_ = rule_->grammar->must_end(state);
  } catch (const GrammarTooComplex&) {
    state_ = Grammar::kDead;
  }
}

}  // namespace deltaserve
