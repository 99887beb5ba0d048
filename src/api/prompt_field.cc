// Reads prompts in the four forms that OpenAI's completions API allows.
#include "api/prompt_field.h"

#include <fmt/format.h>

#include "json/fields.h"

namespace deltaserve {
namespace {

Result<RawPrompt> from_text(const ServingContext& context, std::string_view text,
                            const std::string& param) {
  RawPrompt prompt{context.tokenizer->encode(text), std::string(text)};
  if (prompt.token_ids.empty()) {
    return invalid(fmt::format("'{}' must not be empty.", param), param);
  }
  return prompt;
}

Result<RawPrompt> from_ids(const ServingContext& context, const json::Array& values,
                           const std::string& param) {
  Result<std::vector<int32_t>> ids = read_token_ids(context, values, param);
  if (!ids) {
    return std::unexpected(std::move(ids.error()));
  }
  if (ids->empty()) {
    return invalid(fmt::format("'{}' must not be empty.", param), param);
  }
  std::string text = context.tokenizer->decode(*ids, false);
  return RawPrompt{*std::move(ids), std::move(text)};
}

Result<RawPrompt> from_entry(const ServingContext& context, const json::Value& value,
                             const std::string& param) {
  if (value.is_string()) {
    return from_text(context, value.get_string(), param);
  }
  if (value.is_array()) {
    return from_ids(context, value.get_array(), param);
  }
  return invalid(fmt::format("'{}' must be a string or an array of token ids, got {}.", param,
                             json::kind_name(value)),
                 param);
}

}  // namespace

Result<std::vector<int32_t>> read_token_ids(const ServingContext& context,
                                            const json::Array& values, const std::string& param) {
  std::vector<int32_t> ids;
  ids.reserve(values.size());
  for (const json::Value& value : values) {
    if (!value.is_int64() || value.get_int64() < 0 ||
        value.get_int64() >= context.tokenizer->vocab_size()) {
      return invalid(fmt::format("'{}' must hold token ids from 0 to {}.", param,
                                 context.tokenizer->vocab_size() - 1),
                     param);
    }
    ids.push_back(static_cast<int32_t>(value.get_int64()));
  }
  return ids;
}

Result<std::vector<RawPrompt>> read_prompts(const ServingContext& context, FieldReader& fields) {
  const std::string param = fields.name("prompt");
  const json::Value* value = fields.value("prompt");
  if (value == nullptr) {
    return invalid(fmt::format("'{}' is missing.", param), param);
  }
  std::vector<RawPrompt> prompts;
  const bool several =
      value->is_array() && !value->get_array().empty() && !value->get_array().front().is_number();
  if (!several) {
    Result<RawPrompt> prompt = from_entry(context, *value, param);
    if (!prompt) {
      return std::unexpected(std::move(prompt.error()));
    }
    prompts.push_back(*std::move(prompt));
    return prompts;
  }
  const json::Array& entries = value->get_array();
  if (entries.size() > static_cast<size_t>(context.limits.max_prompts)) {
    return invalid(fmt::format("'{}' may hold at most {} prompts, got {}.", param,
                               context.limits.max_prompts, entries.size()),
                   param);
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    Result<RawPrompt> prompt = from_entry(context, entries[i], fmt::format("{}[{}]", param, i));
    if (!prompt) {
      return std::unexpected(std::move(prompt.error()));
    }
    prompts.push_back(*std::move(prompt));
  }
  return prompts;
}

}  // namespace deltaserve
