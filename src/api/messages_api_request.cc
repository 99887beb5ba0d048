// Everything but the form is chat's: see messages_api_chat_body.h.
#include "api/messages_api_request.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <utility>

#include "api/chat_prompt.h"
#include "api/chat_request.h"
#include "api/messages_api_chat_body.h"
#include "api/messages_api_response.h"
#include "api/request_id.h"
#include "api/sampling_fields.h"

namespace deltaserve::messages_api {
namespace {

Result<int64_t> count_prompt(const ServingContext& context, const json::Object& chat) {
  FieldReader fields(chat);
  const Result<ChatPrompt> prompt = build_chat_prompt(context, fields);
  if (!prompt) {
    return std::unexpected(in_client_terms(prompt.error()));
  }
  return static_cast<int64_t>(prompt->token_ids.size());
}

// An error of chat in this protocol's words.
Error chat_error(const ServingContext& context, const json::Object& chat, const Error& error) {
  Error out = in_client_terms(error);
  if (error.api_code != "context_length_exceeded") {
    return out;
  }
  const Result<int64_t> prompt = count_prompt(context, chat);
  if (!prompt) {
    return prompt.error();
  }
  if (*prompt >= context.max_model_len) {
    out.message = fmt::format("prompt is too long: {} tokens > {} maximum", *prompt,
                              context.max_model_len - 1);
  } else {
    FieldReader fields(chat);
    const int64_t asked =
        fields.integer("max_tokens", 1, std::numeric_limits<int64_t>::max()).value_or(0);
    out.message = fmt::format(
        "input length and `max_tokens` exceed context limit: {} + {} > {}, "
        "decrease input length or `max_tokens` and try again",
        *prompt, asked, context.max_model_len);
  }
  return out;
}

}  // namespace

Result<GenerationJob> parse_request(const ServingContext& context, const json::Object& body) {
  Result<ChatBody> chat = chat_body(body);
  if (!chat) {
    return std::unexpected(std::move(chat.error()));
  }
  if (!chat->fields.contains("max_tokens")) {
    return invalid("'max_tokens' is missing.", "max_tokens");
  }
  Result<GenerationJob> job = parse_chat_request(context, chat->fields);
  if (!job) {
    return std::unexpected(chat_error(context, chat->fields, job.error()));
  }
  ResponseOptions& options = job->options;
  options.id = make_request_id("msg_");
  options.stop = std::move(chat->stop_sequences);
  options.make_format = [omit = chat->omit_thinking](const Tokenizer&,
                                                     const ResponseOptions& made_for) {
    return std::make_unique<MessagesResponse>(made_for, omit);
  };
  return job;
}

Result<std::string> count_tokens(const ServingContext& context, const json::Object& body) {
  const Result<ChatBody> chat = chat_body(body);
  if (!chat) {
    return std::unexpected(chat.error());
  }
  FieldReader fields(chat->fields);
  ResponseOptions options;
  read_model_field(context, fields, options);
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  const Result<int64_t> count = count_prompt(context, chat->fields);
  if (!count) {
    return std::unexpected(count.error());
  }
  return fmt::format("{{\"input_tokens\":{}}}", *count);
}

}  // namespace deltaserve::messages_api
