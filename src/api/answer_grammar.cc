// Calls that have to come exclude a response format; calls that may come stand beside it.
#include "api/answer_grammar.h"

#include <algorithm>
#include <utility>

#include "chat/output_control.h"

namespace deltaserve {
namespace {

bool is_strict(const json::Value& tool) {
  const json::Value* strict = tool.at("function").get_object().if_contains("strict");
  return strict != nullptr && strict->is_bool() && strict->get_bool();
}

std::optional<ToolCallRules> tool_rules(const ChatPrompt& prompt, bool has_format) {
  const ToolFields& fields = prompt.tools;
  if (fields.tools.empty() || fields.forbidden) {
    return std::nullopt;
  }
  if (!fields.required && !has_format && std::ranges::none_of(fields.tools, is_strict)) {
    return std::nullopt;
  }
  ToolCallRules rules;
  rules.format = prompt.output.format;
  rules.parallel = fields.parallel && fields.name.empty();
  rules.required = fields.required;
  rules.text_first = !fields.required && !has_format;
  for (const json::Value& tool : fields.tools) {
    const json::Value& name = tool.at("function").at("name");
    if (fields.name.empty() || name == json::Value(fields.name)) rules.tools.push_back(tool);
  }
  return rules;
}

}  // namespace

Result<std::optional<GrammarRule>> make_answer_grammar(const ServingContext& context,
                                                       std::optional<OutputRule> rule,
                                                       const ChatPrompt& prompt) {
  AnswerRules rules;
  rules.tools = tool_rules(prompt, rule.has_value());
  if (rules.tools && rules.tools->format == ToolCallFormat::kNone) {
    return invalid(
        "Tool calls are not parsed by this server: it runs with --tool-call-parser none.", "tools");
  }
  if (rule && !prompt.tools.required) {
    rules.spec = std::move(rule->spec);
  }
  if (!rules.spec && !rules.tools) {
    return std::optional<GrammarRule>();
  }
  GrammarRule result;
  if (prompt.output.start == OutputStart::kReasoning) {
    result.after_token =
        context.tokenizer->token_to_id(control::literal(ControlToken::kThinkClose));
  }
  rules.after_thought = prompt.output.start == OutputStart::kReasoning;
  Result<std::shared_ptr<Grammar>> grammar = context.grammars->get(rules);
  if (!grammar) {
    if (grammar.error().param.empty() && rule) grammar.error().param = rule->param;
    return std::unexpected(std::move(grammar.error()));
  }
  result.grammar = *std::move(grammar);
  return std::optional(std::move(result));
}

}  // namespace deltaserve
