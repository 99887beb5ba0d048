// Lengths first, since they are what clients get wrong; then every token id that would index
// memory.
#include "engine/request_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/embedding_copies.h"

namespace deltaserve {
namespace {

Result<void> check_lengths(const Request& request, const RequestLimits& limits) {
  const auto prompt_len = static_cast<int64_t>(request.prompt_token_ids.size());
  const int64_t max_tokens = request.sampling.max_tokens;
  if (prompt_len == 0) return invalid("the prompt is empty: send at least one token", "prompt");
  if (max_tokens < 1) return invalid("max_tokens must be at least 1", "max_tokens");
  if (prompt_len >= limits.max_model_len) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the prompt has {} tokens and leaves no room for an answer: this model "
                            "is served with a context of {} tokens",
                            prompt_len, limits.max_model_len),
                "prompt", "context_length_exceeded");
  }
  if (max_tokens > limits.max_model_len - prompt_len) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the prompt has {} tokens and max_tokens is {}: together they exceed "
                            "the context of {} tokens, so max_tokens can be at most {}",
                            prompt_len, max_tokens, limits.max_model_len,
                            limits.max_model_len - prompt_len),
                "max_tokens", "context_length_exceeded");
  }
  return {};
}

Result<void> check_token_ids(const Request& request, const RequestLimits& limits) {
  const auto outside = [&limits](int32_t token) { return token < 0 || token >= limits.vocab_size; };
  const auto bad = std::ranges::find_if(request.prompt_token_ids, outside);
  if (bad != request.prompt_token_ids.end()) {
    return invalid(fmt::format("prompt token id {} is not in the vocabulary of {} tokens", *bad,
                               limits.vocab_size),
                   "prompt");
  }
  for (const LogitBias& bias : request.sampling.logit_bias) {
    if (!outside(bias.token)) continue;
    return invalid(fmt::format("logit_bias token id {} is not in the vocabulary of {} tokens",
                               bias.token, limits.vocab_size),
                   "logit_bias");
  }
  return {};
}

// The api makes these tokens itself; a caller of the engine may not.
Result<void> check_thinking_budget(const Request& request, const RequestLimits& limits) {
  const std::optional<ThinkingBudget>& budget = request.sampling.thinking_budget;
  if (!budget) return {};
  const auto outside = [&limits](int32_t token) { return token < 0 || token >= limits.vocab_size; };
  const bool closes =
      std::ranges::find(budget->closing, budget->close_token) != budget->closing.end();
  if (budget->num_tokens < 0 || !closes || std::ranges::any_of(budget->closing, outside)) {
    return invalid(
        "the thinking budget must not be negative, and close with tokens of the vocabulary",
        "thinking_token_budget");
  }
  return {};
}

// The embeddings of all pictures are held together while the prompt is computed.
Result<void> check_pictures(const Request& request, const RequestLimits& limits) {
  const auto& items = request.vision_items;
  if (limits.vision == nullptr && !items.empty()) {
    return invalid("this model takes text only, no pictures", "messages");
  }
  int64_t num_tokens = 0;
  int64_t num_pages = 0;
  for (const auto& item : items) {
    if (Result<void> checked = limits.vision->check(*item); !checked) return checked;
    num_tokens += item->num_tokens();
    num_pages += vision_pages_for(item->num_tokens());
  }
  if (!items.empty() && num_pages > limits.vision->num_pages()) {
    return invalid(fmt::format("the prompt's pictures take {} tokens and this server holds {} at a "
                               "time: send fewer or smaller ones",
                               num_tokens, limits.vision->num_pages() * kVisionPageRows),
                   "messages");
  }
  const Result<PromptLayout> layout =
      PromptLayout::make(request.prompt_token_ids, items, limits.placeholders);
  if (!layout) return std::unexpected(layout.error());
  return {};
}

}  // namespace

Result<void> check_request(const Request& request, const RequestLimits& limits) {
  const int32_t n = request.sampling.n;
  if (n < 1 || n > limits.max_choices) {
    return invalid(fmt::format("n must be between 1 and {}", limits.max_choices), "n");
  }
  if (Result<void> lengths = check_lengths(request, limits); !lengths) return lengths;
  const std::optional<GrammarRule>& rule = request.sampling.grammar;
  if (rule && (rule->grammar == nullptr ||
               static_cast<int64_t>(rule->grammar->vocabulary().size()) != limits.vocab_size)) {
    return invalid("the grammar is made for another vocabulary", "structured_outputs");
  }
  if (Result<void> budget = check_thinking_budget(request, limits); !budget) return budget;
  if (Result<void> ids = check_token_ids(request, limits); !ids) return ids;
  return check_pictures(request, limits);
}

}  // namespace deltaserve
