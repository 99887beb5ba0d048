// A state behind every token, so that tokens are taken back by forgetting states.
#include "engine/grammar_limit.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {

GrammarLimit::GrammarLimit(const GrammarRule& rule, bool forces)
    : rule_(&rule),
      places_{{rule.after_token ? kWaits : rule.grammar->start(), -1}},
      forces_(forces),
      mask_(rule.grammar->vocabulary().num_words(), 0) {
  settle();
}

void GrammarLimit::record(int32_t token) {
  places_.push_back({follow(places_.back().state, token), token});
  settle();
}

void GrammarLimit::rollback(int64_t count) {
  DS_CHECK(count >= 0 && static_cast<size_t>(count) < places_.size(),
           "more tokens are taken back than were recorded");
  places_.erase(places_.end() - count, places_.end());
  settle();
}

GrammarLimit::State GrammarLimit::follow(State state, int32_t token) {
  if (state == kWaits) {
    return token == rule_->after_token ? rule_->grammar->start() : kWaits;
  }
  if (state == Grammar::kDead) {
    return state;
  }
  try {
    return rule_->grammar->advance(state, token);
  } catch (const GrammarTooComplex&) {
    outgrown_ = true;
    return Grammar::kDead;
  }
}

void GrammarLimit::settle() {
  made_ = false;
  ended_ = find_ended();
  forced_ = find_forced();
}

bool GrammarLimit::find_ended() {
  const State state = places_.back().state;
  if (state == kWaits || state == Grammar::kDead) {
    return false;
  }
  try {
    return rule_->grammar->must_end(state);
  } catch (const GrammarTooComplex&) {
    outgrown_ = true;
    return false;
  }
}

std::optional<int32_t> GrammarLimit::find_forced() {
  const State state = places_.back().state;
  if (!forces_ || state == kWaits || state == Grammar::kDead) {
    return std::nullopt;
  }
  try {
    const ForcedText text = rule_->grammar->forced_text(state);
    if (text.bytes.empty()) return std::nullopt;
    // Of this answer: what stands before the grammar begins is no part of its text.
    std::vector<int32_t> last;
    for (auto place = places_.rbegin(); last.size() < 2; ++place) {
      if (place + 1 == places_.rend() || (place + 1)->state == kWaits) break;
      last.insert(last.begin(), place->token);
    }
    return rule_->grammar->vocabulary().canonical_token(last, text);
  } catch (const GrammarTooComplex&) {
    outgrown_ = true;
    return std::nullopt;
  }
}

void GrammarLimit::make_mask() {
  const State state = places_.back().state;
  DS_CHECK(state != kWaits, "a mask before the grammar begins");
  std::ranges::fill(mask_, 0);
  made_ = true;
  if (state == Grammar::kDead) return;
  if (forced_) {
    const auto bit = static_cast<size_t>(*forced_);
    mask_[bit / 64] = uint64_t{1} << (bit % 64);
    return;
  }
  try {
    rule_->grammar->fill_mask(state, mask_);
  } catch (const GrammarTooComplex&) {
    outgrown_ = true;
    std::ranges::fill(mask_, 0);
  }
}

}  // namespace deltaserve
