// A piece's pairs: each of its tokens with all before the piece and with half of the piece.
#include "engine/step_work.h"

#include <algorithm>
#include <cmath>

namespace deltaserve {
namespace {

double pairs_of(int64_t context, int64_t num_tokens) {
  const auto n = static_cast<double>(num_tokens);
  return n * (static_cast<double>(context) + 0.5 * n);
}

}  // namespace

void StepWork::add_decodes(int64_t context, int64_t num_tokens) {
  decodes += static_cast<double>(num_tokens);
  decode_context += static_cast<double>(num_tokens) * static_cast<double>(context);
}

void StepWork::add_prompt(int64_t context, int64_t num_tokens) {
  prompt_tokens += static_cast<double>(num_tokens);
  prompt_pairs += pairs_of(context, num_tokens);
}

double PromptAllowance::cost(int64_t context, int64_t num_tokens) const {
  return static_cast<double>(num_tokens) * token_seconds +
         pairs_of(context, num_tokens) * pair_seconds;
}

void PromptAllowance::take(int64_t context, int64_t num_tokens) {
  seconds -= cost(context, num_tokens);
  most_tokens -= num_tokens;
}

// The larger n with n * (token_seconds + context * pair_seconds) + n^2 / 2 * pair_seconds =
// seconds, in the form that stays exact where pair_seconds is nothing.
int64_t PromptAllowance::tokens_behind(int64_t context) const {
  if (seconds <= 0.0 || most_tokens <= 0) return 0;
  const double linear = token_seconds + static_cast<double>(context) * pair_seconds;
  const double root = std::sqrt(linear * linear + 2.0 * pair_seconds * seconds);
  if (!(linear + root > 0.0)) return most_tokens;
  const double tokens = 2.0 * seconds / (linear + root);
  return tokens < static_cast<double>(most_tokens) ? static_cast<int64_t>(tokens) : most_tokens;
}

}  // namespace deltaserve
