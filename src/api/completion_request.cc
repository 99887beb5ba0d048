// Parses and validates a text completion request.
#include "api/completion_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/cache_fields.h"
#include "api/completion_response.h"
#include "api/output_rule.h"
#include "api/prompt_field.h"
#include "api/request_id.h"
#include "api/sampling_fields.h"

namespace deltaserve {
namespace {

// OpenAI's default for this endpoint, unlike chat, whose answers may fill the context.
constexpr int64_t kDefaultMaxTokens = 16;

void read_logprobs(const ServingContext& context, FieldReader& fields, GenerationJob& job,
                   Request& request, bool echo) {
  const auto logprobs = fields.integer("logprobs", 0, context.limits.max_logprobs);
  request.sampling.num_logprobs = static_cast<int32_t>(logprobs.value_or(-1));
  request.prompt_logprobs = echo ? request.sampling.num_logprobs : -1;
  job.options.num_logprobs = request.sampling.num_logprobs;
}

void refuse_completion_fields(FieldReader& fields, int32_t n) {
  if (const auto suffix = fields.string("suffix"); suffix && !suffix->empty()) {
    fields.refuse("suffix", "'suffix' is not supported.");
  }
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  if (const auto best_of = fields.integer("best_of", 1, kNoLimit); best_of && *best_of != n) {
    fields.refuse("best_of", "'best_of' is only supported when it equals 'n'.");
  }
}

// What even an empty queue cannot take is refused for good.
Result<void> check_choices(const ServingContext& context, size_t num_prompts, int32_t n) {
  const auto choices = static_cast<int64_t>(num_prompts) * n;
  if (choices <= context.limits.max_prompts) {
    return {};
  }
  return invalid(
      fmt::format("{} prompts with {} choices each are more than the {} that this server "
                  "takes at a time: send fewer.",
                  num_prompts, n, context.limits.max_prompts),
      n > 1 ? "n" : "prompt");
}

Result<void> add_prompt(const ServingContext& context, RawPrompt prompt, bool echo,
                        std::optional<int64_t> max_tokens, Request request, GenerationJob& job) {
  const auto num_tokens = static_cast<int64_t>(prompt.token_ids.size());
  const int64_t room = std::max<int64_t>(context.max_model_len - num_tokens, 1);
  const int64_t wanted = max_tokens.value_or(std::min(kDefaultMaxTokens, room));
  Result<void> fits = resolve_max_tokens(
      context, num_tokens, wanted, {.prompt = "prompt", .limit = "max_tokens"}, request.sampling);
  if (!fits) {
    return fits;
  }
  PromptInfo info{num_tokens, {}, echo ? std::move(prompt.text) : std::string()};
  if (job.options.return_token_ids || request.prompt_logprobs >= 0) {
    info.token_ids = prompt.token_ids;
  }
  request.prompt_token_ids = std::move(prompt.token_ids);
  request.eos_token_ids = context.eos_token_ids;
  job.prompts.push_back(std::move(info));
  job.requests.push_back(std::move(request));
  return {};
}

}  // namespace

Result<GenerationJob> parse_completion_request(const ServingContext& context,
                                               const json::Object& body) {
  FieldReader fields(body);
  GenerationJob job;
  Request request;
  read_model_field(context, fields, job.options);
  read_stream_fields(fields, job.options);
  read_sampling_fields(context, fields, request.sampling, job.options);
  const bool echo = fields.boolean("echo", false);
  read_logprobs(context, fields, job, request, echo);
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  const auto max_tokens = fields.integer("max_tokens", 1, kNoLimit);
  fields.boolean("add_special_tokens", true);
  request.priority = read_priority(fields);
  request.cache_salt = read_cache_salt(fields);
  request.cache_name = read_cache_name(fields);
  refuse_completion_fields(fields, job.options.n);
  refuse_unsupported_fields(fields);
  const std::optional<OutputRule> rule = read_output_rule(fields);
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (rule) {
    Result<std::shared_ptr<Grammar>> grammar = context.grammars->get({rule->spec, {}, false});
    if (!grammar) {
      grammar.error().param = rule->param;
      return std::unexpected(std::move(grammar.error()));
    }
    request.sampling.grammar = GrammarRule{*std::move(grammar), std::nullopt};
  }
  Result<std::vector<RawPrompt>> prompts = read_prompts(context, fields);
  if (!prompts) {
    return std::unexpected(std::move(prompts.error()));
  }
  const Result<void> few = check_choices(context, prompts->size(), job.options.n);
  if (!few) {
    return std::unexpected(few.error());
  }
  job.options.make_format = CompletionResponse::make;
  job.options.id = make_request_id("cmpl-");
  job.options.created = unix_seconds();
  for (RawPrompt& prompt : *prompts) {
    const Result<void> added =
        add_prompt(context, std::move(prompt), echo, max_tokens, request, job);
    if (!added) {
      return std::unexpected(added.error());
    }
  }
  return job;
}

}  // namespace deltaserve
