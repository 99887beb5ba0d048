// Two running averages.
#include "engine/step_pace.h"

#include <algorithm>

#include "ops/batch_view.h"

namespace deltaserve {
namespace {

// Weight of the newest step: contexts grow slowly against it, and one slow step is soon forgotten.
constexpr double kNewest = 0.25;

// Prompt tokens of a step while nothing is known of the machine.
constexpr int64_t kFirstPromptTokens = 4 * kChunkSize;

void average(double value, double& mean) {
  mean = mean == 0.0 ? value : mean + kNewest * (value - mean);
}

}  // namespace

void StepPace::record(int64_t prompt_tokens, bool has_decodes, double seconds) {
  if (target_ == 0.0) return;
  if (prompt_tokens == 0) {
    if (has_decodes) average(seconds, decode_seconds_);
    return;
  }
  // The weights are read once a step whatever it holds: a share of it falls on short prompts.
  const double beyond = std::max(seconds - decode_seconds_, 0.1 * seconds);
  average(beyond / static_cast<double>(std::max<int64_t>(prompt_tokens, kChunkSize)),
          prompt_token_seconds_);
}

int64_t StepPace::prompt_tokens() const {
  if (target_ == 0.0) return 0;
  if (prompt_token_seconds_ == 0.0) return kFirstPromptTokens;
  const double left = std::max(0.0, target_ - decode_seconds_);
  const double tokens = std::min(left / prompt_token_seconds_, 1e9);
  return std::max<int64_t>(1, static_cast<int64_t>(tokens) / kChunkSize) * kChunkSize;
}

}  // namespace deltaserve
