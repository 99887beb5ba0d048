// Shows what a prompt is to the model, and back.
#include "api/tokenize_endpoint.h"

#include "api/chat_prompt.h"
#include "api/field_reader.h"
#include "api/prompt_field.h"
#include "api/sampling_fields.h"

namespace deltaserve {
namespace {

Result<std::vector<int32_t>> prompt_ids(const ServingContext& context, FieldReader& fields) {
  if (fields.value("messages") != nullptr) {
    Result<ChatPrompt> prompt = build_chat_prompt(context, fields);
    if (!prompt) {
      return std::unexpected(std::move(prompt.error()));
    }
    return std::move(prompt->token_ids);
  }
  const std::optional<std::string> text = fields.string("prompt");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (!text) {
    return invalid("Either 'prompt' or 'messages' is needed.", "prompt");
  }
  return context.tokenizer->encode(*text);
}

}  // namespace

Result<std::string> tokenize_body(const ServingContext& context, const json::Object& body) {
  FieldReader fields(body);
  ResponseOptions options;
  read_model_field(context, fields, options);
  fields.boolean("add_special_tokens", true);
  const bool with_strings = fields.boolean("return_token_strs", false);
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  const Result<std::vector<int32_t>> ids = prompt_ids(context, fields);
  if (!ids) {
    return std::unexpected(ids.error());
  }
  json::Value strings = nullptr;
  if (with_strings) {
    json::Array& list = strings.emplace_array();
    for (const int32_t id : *ids) {
      list.emplace_back(context.tokenizer->decode({id}, false));
    }
  }
  return json::serialize(json::Object{{"count", ids->size()},
                                      {"max_model_len", context.max_model_len},
                                      {"tokens", json::Array(ids->begin(), ids->end())},
                                      {"token_strs", std::move(strings)}});
}

Result<std::string> detokenize_body(const ServingContext& context, const json::Object& body) {
  FieldReader fields(body);
  ResponseOptions options;
  read_model_field(context, fields, options);
  const json::Array* tokens = fields.array("tokens");
  if (fields.ok() && tokens == nullptr) {
    fields.refuse("tokens", "'tokens' is missing.");
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  const Result<std::vector<int32_t>> ids = read_token_ids(context, *tokens, "tokens");
  if (!ids) {
    return std::unexpected(ids.error());
  }
  return json::serialize(json::Object{{"prompt", context.tokenizer->decode(*ids, false)}});
}

}  // namespace deltaserve
