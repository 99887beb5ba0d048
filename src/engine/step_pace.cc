// Prediction and margin.
#include "engine/step_pace.h"

#include <algorithm>

#include "ops/batch_view.h"

namespace deltaserve {
namespace {

// Steps that the margin is taken from: the target is to hold for 99 of 100. What took longer than
// kMostMargin times its prediction was a stall, which shorter steps do not help against.
constexpr size_t kRecent = 128;
constexpr double kMostMargin = 2.0;

// What is assumed of the errors of predictions at least before some were seen.
constexpr size_t kFew = 32;
constexpr double kFirstMargin = 1.25;

// The next error may pass the worst of the recent ones: as long as contexts grow, each does a bit.
constexpr double kBeyondWorst = 1.02;

// Prompt tokens of a step while nothing is known of the machine, and how much more than the most so
// far a step may have: predictions far beyond what was seen are not to be trusted.
constexpr int64_t kFirstPromptTokens = 4 * kChunkSize;
constexpr double kMostGrowth = 2.0;

}  // namespace

StepPace::StepPace(double target_seconds) : target_(target_seconds) {
  excesses_.reserve(kRecent);
}

void StepPace::record(const StepWork& work, double seconds) {
  if (target_ == 0.0) return;
  if (work.prompt_tokens > 0.0 && work.decodes > 0.0 && cost_.knows_prompts()) {
    const double excess = seconds / std::max(cost_.predict(work), 1e-9);
    if (excess <= kMostMargin) {
      if (excesses_.size() < kRecent) excesses_.push_back(excess);
      excesses_[num_excesses_++ % kRecent] = excess;
    }
  }
  most_prompt_tokens_ = std::max(most_prompt_tokens_, work.prompt_tokens);
  cost_.record(work, seconds);
}

double StepPace::margin() const {
  const double least = excesses_.size() < kFew ? kFirstMargin : 1.0;
  return excesses_.empty() ? least : std::max(least, kBeyondWorst * std::ranges::max(excesses_));
}

PromptAllowance StepPace::allowance(const StepWork& decodes) const {
  if (target_ == 0.0) return {};
  PromptAllowance allowance;
  if (!cost_.knows_prompts()) {
    allowance.most_tokens = kFirstPromptTokens;
    return allowance;
  }
  allowance.seconds = target_ / margin() - cost_.predict(decodes);
  allowance.token_seconds = cost_.token_seconds();
  allowance.pair_seconds = cost_.pair_seconds();
  allowance.most_tokens =
      std::max(kFirstPromptTokens, static_cast<int64_t>(kMostGrowth * most_prompt_tokens_));
  return allowance;
}

}  // namespace deltaserve
