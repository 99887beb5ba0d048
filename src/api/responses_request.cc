// Own fields here, all others by way of a chat request.
#include "api/responses_request.h"

#include <memory>
#include <utility>

#include "api/chat_request.h"
#include "api/field_reader.h"
#include "api/request_id.h"
#include "api/responses_chat_body.h"
#include "api/responses_format.h"
#include "api/responses_settings.h"
#include "engine/default_sampling.h"

namespace deltaserve {

Result<GenerationJob> parse_responses_request(const ServingContext& context,
                                              const json::Object& body) {
  FieldReader fields(body);
  auto settings = responses_api::read_settings(default_sampling(context.generation_config), fields);
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  const Result<json::Object> chat = responses_api::chat_body(body, settings.logprobs);
  if (!chat) {
    return std::unexpected(chat.error());
  }
  Result<GenerationJob> job = parse_chat_request(context, *chat);
  if (!job) {
    return std::unexpected(responses_api::in_own_names(std::move(job.error())));
  }
  job->options.id = make_request_id("resp_");
  job->options.make_format = [settings = std::move(settings)](const Tokenizer& tokenizer,
                                                              const ResponseOptions& options) {
    return std::make_unique<ResponsesFormat>(tokenizer, options, settings);
  };
  return job;
}

}  // namespace deltaserve
