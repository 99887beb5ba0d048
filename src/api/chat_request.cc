// Parses and validates a chat request. Cheap checks of all fields come before rendering, so that a
// wrong number is not found only after a long prompt was tokenised.
#include "api/chat_request.h"

#include <limits>

#include "api/answer_grammar.h"
#include "api/cache_fields.h"
#include "api/chat_prompt.h"
#include "api/chat_response.h"
#include "api/request_id.h"
#include "api/sampling_fields.h"
#include "api/thinking_budget.h"
#include "chat/output_control.h"

namespace deltaserve {
namespace {

void read_logprobs(const ServingContext& context, FieldReader& fields, GenerationJob& job,
                   SamplingParams& sampling) {
  const bool wanted = fields.boolean("logprobs", false);
  const int64_t top = fields.integer("top_logprobs", 0, context.limits.max_logprobs).value_or(0);
  if (top > 0 && !wanted) {
    fields.refuse("top_logprobs", "'top_logprobs' needs 'logprobs' to be true.");
  }
  sampling.num_logprobs = wanted ? static_cast<int32_t>(top) : -1;
  job.options.num_logprobs = sampling.num_logprobs;
}

struct TokenLimit {
  std::optional<int64_t> value;
  std::string_view field = "max_tokens";
};

TokenLimit read_token_limit(FieldReader& fields) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  const auto older = fields.integer("max_tokens", 1, kNoLimit);
  const auto newer = fields.integer("max_completion_tokens", 1, kNoLimit);
  return newer ? TokenLimit{newer, "max_completion_tokens"} : TokenLimit{older, "max_tokens"};
}

// What the prompt implies for its answer.
void apply_prompt(const ServingContext& context, ChatPrompt& prompt, SamplingParams& sampling,
                  ResponseOptions& options) {
  options.parallel_tool_calls = prompt.tools.parallel;
  options.hide_tool_calls = prompt.tools.forbidden;
  if (prompt.thinking_budget) {
    sampling.thinking_budget =
        make_thinking_budget(context, *prompt.thinking_budget, prompt.output.start);
  }
  const auto call_token =
      context.tokenizer->token_to_id(control::literal(ControlToken::kToolCallOpen));
  if (prompt.tools.forbidden && prompt.output.tools != nullptr && call_token) {
    sampling.banned_token_ids.push_back(*call_token);
  }
  options.output = std::move(prompt.output);
}

}  // namespace

Result<GenerationJob> parse_chat_request(const ServingContext& context, const json::Object& body) {
  FieldReader fields(body);
  GenerationJob job;
  Request request;
  read_model_field(context, fields, job.options);
  read_stream_fields(fields, job.options);
  read_sampling_fields(context, fields, request.sampling, job.options);
  read_logprobs(context, fields, job, request.sampling);
  const TokenLimit limit = read_token_limit(fields);
  const bool echo = fields.boolean("echo", false);
  request.priority = read_priority(fields);
  request.cache_salt = read_cache_salt(fields);
  request.cache_name = read_cache_name(fields);
  std::optional<OutputRule> rule = read_output_rule(fields);
  refuse_unsupported_fields(fields);
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  Result<ChatPrompt> prompt = build_chat_prompt(context, fields);
  if (!prompt) {
    return std::unexpected(std::move(prompt.error()));
  }
  const auto num_tokens = static_cast<int64_t>(prompt->token_ids.size());
  Result<void> fits =
      resolve_max_tokens(context, num_tokens, limit.value,
                         {.prompt = "messages", .limit = limit.field}, request.sampling);
  if (!fits) {
    return std::unexpected(std::move(fits.error()));
  }
  Result<std::optional<GrammarRule>> grammar =
      make_answer_grammar(context, std::move(rule), *prompt);
  if (!grammar) {
    return std::unexpected(std::move(grammar.error()));
  }
  request.sampling.grammar = *std::move(grammar);
  if (!prompt->media.empty()) {
    const Result<void> loaded = load_prompt_media(*context.media, prompt->media, request);
    if (!loaded) {
      return std::unexpected(loaded.error());
    }
  }
  apply_prompt(context, *prompt, request.sampling, job.options);
  job.remark = std::move(prompt->remark);
  job.options.make_format = ChatResponse::make;
  job.options.id = make_request_id("chatcmpl-");
  job.options.created = unix_seconds();
  PromptInfo info{num_tokens, {}, echo ? std::move(prompt->continued_text) : std::string()};
  if (job.options.return_token_ids) {
    info.token_ids = prompt->token_ids;
  }
  request.cache_borders = message_starts(*context.tokenizer, prompt->token_ids);
  request.prompt_token_ids = std::move(prompt->token_ids);
  request.eos_token_ids = context.eos_token_ids;
  job.prompts.push_back(std::move(info));
  job.requests.push_back(std::move(request));
  return job;
}

}  // namespace deltaserve
