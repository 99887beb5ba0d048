// Tokens of the tags and of the closing phrase.
#include "api/thinking_budget.h"

#include "chat/output_control.h"

namespace deltaserve {

std::optional<ThinkingBudget> make_thinking_budget(const ServingContext& context,
                                                   int64_t num_tokens, OutputStart start) {
  const Tokenizer& tokenizer = *context.tokenizer;
  const std::string_view close_text = control::literal(ControlToken::kThinkClose);
  const auto open = tokenizer.token_to_id(control::literal(ControlToken::kThinkOpen));
  const auto close = tokenizer.token_to_id(close_text);
  if (!open || !close || !tokenizer.is_added(*open) || !tokenizer.is_added(*close)) {
    return std::nullopt;
  }
  ThinkingBudget budget;
  budget.num_tokens = num_tokens;
  budget.open = start == OutputStart::kReasoning;
  budget.open_token = *open;
  budget.close_token = *close;
  budget.closing = tokenizer.encode(std::vector<TextSpan>{
      {context.chat.thinking_budget_message, false}, {close_text, true}, {"\n\n", false}});
  return budget;
}

}  // namespace deltaserve
