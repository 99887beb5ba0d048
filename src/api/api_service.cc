// ApiService: parses bodies and hands them to the endpoint that knows them.
#include "api/api_service.h"

#include <utility>

#include "api/chat_request.h"
#include "api/completion_request.h"
#include "api/messages_api_request.h"
#include "api/models_endpoint.h"
#include "api/responses_request.h"
#include "api/tokenize_endpoint.h"
#include "json/fields.h"

namespace deltaserve {

Result<json::Object> parse_body(std::string_view body) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some clients on Windows write it
  if (body.starts_with(kByteOrderMark)) {
    body.remove_prefix(kByteOrderMark.size());
  }
  if (body.empty()) {
    return invalid("The request body is empty: send a JSON object.");
  }
  Result<json::Value> value = json::parse(body);
  if (!value) {
    return std::unexpected(std::move(value.error()));
  }
  if (!value->is_object()) {
    return invalid("The request body must be a JSON object, got " +
                   std::string(json::kind_name(*value)) + ".");
  }
  return std::move(value->get_object());
}

void ApiService::set_ready(std::shared_ptr<const ServingContext> context) {
  const std::lock_guard lock(mutex_);
  context_ = std::move(context);
}

std::shared_ptr<const ServingContext> ApiService::context() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

Result<std::shared_ptr<const ServingContext>> ApiService::ready_context() const {
  auto ready = context();
  if (!ready) {
    return fail(ErrorCode::kUnavailable, "The model is still being loaded.");
  }
  return ready;
}

Result<void> ApiService::health() const {
  const auto ready = ready_context();
  if (!ready) {
    return std::unexpected(ready.error());
  }
  if (!(*ready)->engine->healthy()) {
    return fail(ErrorCode::kUnavailable, "The engine has failed: " + (*ready)->engine->failure());
  }
  return {};
}

template <typename Parse>
Result<ApiService::Prepared> ApiService::prepare(std::string_view body, Parse parse) const {
  auto ready = ready_context();
  if (!ready) {
    return std::unexpected(std::move(ready.error()));
  }
  const Result<json::Object> object = parse_body(body);
  if (!object) {
    return std::unexpected(object.error());
  }
  Result<GenerationJob> job = parse(**ready, *object);
  if (!job) {
    return std::unexpected(std::move(job.error()));
  }
  return Prepared{*std::move(ready), *std::move(job)};
}

template <typename Answer>
Result<std::string> ApiService::answer(std::string_view body, Answer make) const {
  const auto ready = ready_context();
  if (!ready) {
    return std::unexpected(ready.error());
  }
  const Result<json::Object> object = parse_body(body);
  if (!object) {
    return std::unexpected(object.error());
  }
  return make(**ready, *object);
}

Result<ApiService::Prepared> ApiService::chat(std::string_view body) const {
  return prepare(body, parse_chat_request);
}

Result<ApiService::Prepared> ApiService::completion(std::string_view body) const {
  return prepare(body, parse_completion_request);
}

Result<ApiService::Prepared> ApiService::responses(std::string_view body) const {
  return prepare(body, parse_responses_request);
}

Result<ApiService::Prepared> ApiService::messages(std::string_view body) const {
  return prepare(body, messages_api::parse_request);
}

Result<std::string> ApiService::count_message_tokens(std::string_view body) const {
  return answer(body, messages_api::count_tokens);
}

Result<std::string> ApiService::tokenize(std::string_view body) const {
  return answer(body, tokenize_body);
}

Result<std::string> ApiService::detokenize(std::string_view body) const {
  return answer(body, detokenize_body);
}

Result<std::string> ApiService::models() const {
  const auto ready = ready_context();
  if (!ready) {
    return std::unexpected(ready.error());
  }
  return models_body(**ready);
}

Result<std::string> ApiService::model(std::string_view id) const {
  const auto ready = ready_context();
  if (!ready) {
    return std::unexpected(ready.error());
  }
  return model_body(**ready, id);
}

std::string ApiService::version() const {
  return json::serialize(json::Object{{"version", version_}});
}

}  // namespace deltaserve
