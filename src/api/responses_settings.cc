// One function a group of fields. Values that chat requests have too are repeated here and checked
// there.
#include "api/responses_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "json/fields.h"

namespace deltaserve::responses_api {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Fields that lean on something that was stored, or that drop parts of the input.
void refuse_stateful_fields(FieldReader& fields) {
  for (const std::string_view key : {"previous_response_id", "conversation"}) {
    if (fields.value(key) != nullptr) {
      fields.refuse(key, fmt::format("'{}' needs stored responses, but this server stores nothing: "
                                     "send the whole conversation in 'input'.",
                                     key));
    }
  }
  if (fields.value("prompt") != nullptr) {
    fields.refuse("prompt",
                  "'prompt' needs stored prompts, but this server stores nothing: use "
                  "'instructions' and 'input'.");
  }
  if (fields.boolean("background", false)) {
    fields.refuse("background",
                  "'background' needs stored responses, but this server stores "
                  "nothing: leave it out and use 'stream'.");
  }
  const json::Array* management = fields.array("context_management");
  if (management != nullptr && !management->empty()) {
    fields.refuse("context_management",
                  "'context_management' is not supported: this server does "
                  "not shorten conversations.");
  }
  fields.boolean("store", false);
  fields.integer("n", 1, 1);
}

void refuse_truncation(FieldReader& fields) {
  const std::string truncation = fields.string("truncation").value_or("disabled");
  if (truncation == "auto") {
    fields.refuse("truncation",
                  "'truncation' 'auto' is not supported: this server does not drop "
                  "items of the input. Use 'disabled' and shorten it yourself.");
  } else if (truncation != "disabled") {
    fields.refuse("truncation",
                  fmt::format("'truncation' must be 'disabled', got '{}'.", truncation));
  }
}

constexpr std::string_view kIncludeLogprobs = "message.output_text.logprobs";
constexpr std::string_view kIncludeEncrypted = "reasoning.encrypted_content";

// Of items that this server never writes: nothing to include, and no error with OpenAI either.
constexpr std::array<std::string_view, 6> kOtherIncludes = {"file_search_call.results",
                                                            "web_search_call.results",
                                                            "web_search_call.action.sources",
                                                            "message.input_image.image_url",
                                                            "computer_call_output.output.image_url",
                                                            "code_interpreter_call.outputs"};

void read_include(FieldReader& fields, Settings& settings) {
  const json::Array* include = fields.array("include");
  if (include == nullptr) {
    return;
  }
  for (size_t i = 0; i < include->size(); ++i) {
    const json::Value& entry = (*include)[i];
    const std::string_view name = entry.is_string() ? std::string_view(entry.get_string()) : "";
    if (name == kIncludeLogprobs) {
      settings.logprobs = true;
    } else if (name == kIncludeEncrypted) {
      settings.carry_reasoning = true;
    } else if (std::ranges::find(kOtherIncludes, name) == kOtherIncludes.end()) {
      fields.refuse(fmt::format("include[{}]", i),
                    fmt::format("'include[{}]' is not one of the values of 'include'.", i));
    }
  }
}

// One of `allowed`, or an error; null if absent.
json::Value choice_of(FieldReader& fields, std::string_view key,
                      std::initializer_list<std::string_view> allowed) {
  const std::optional<std::string> value = fields.string(key);
  if (!value) {
    return nullptr;
  }
  if (std::ranges::find(allowed, *value) == allowed.end()) {
    std::string list;
    for (const std::string_view one : allowed) {
      list += list.empty() ? "" : ", ";
      list += one;
    }
    fields.refuse(key,
                  fmt::format("'{}' must be one of {}; got '{}'.", fields.name(key), list, *value));
  }
  return json::Value(*value);
}

json::Value or_default(const FieldReader& fields, std::string_view key,
                       const json::Value& fallback) {
  const json::Value* value = fields.value(key);
  return value != nullptr ? *value : fallback;
}

json::Value repeated_reasoning(FieldReader& fields) {
  json::Object out{{"effort", nullptr}, {"summary", nullptr}};
  if (const json::Object* reasoning = fields.object("reasoning")) {
    FieldReader nested(*reasoning, "reasoning");
    out["effort"] = or_default(nested, "effort", nullptr);
    out["summary"] = choice_of(nested, "summary", {"auto", "concise", "detailed"});
    if (!nested.ok()) {
      fields.fail(nested.error());
    }
  }
  return out;
}

json::Value repeated_text(FieldReader& fields) {
  json::Object out{{"format", json::Object{{"type", "text"}}}};
  if (const json::Object* text = fields.object("text")) {
    FieldReader nested(*text, "text");
    if (const json::Object* format = nested.object("format")) {
      out["format"] = *format;
    }
    if (json::Value verbosity = choice_of(nested, "verbosity", {"low", "medium", "high"});
        !verbosity.is_null()) {
      out["verbosity"] = std::move(verbosity);
    }
    if (!nested.ok()) {
      fields.fail(nested.error());
    }
  }
  return out;
}

json::Value repeated_metadata(FieldReader& fields) {
  const json::Object* metadata = fields.object("metadata");
  if (metadata == nullptr) {
    return json::Object{};
  }
  for (const auto& [key, value] : *metadata) {
    if (!value.is_string()) {
      fields.refuse("metadata", fmt::format("'metadata' must hold strings, got {} for '{}'.",
                                            json::kind_name(value), std::string_view(key)));
      break;
    }
  }
  return *metadata;
}

json::Value string_or_null(FieldReader& fields, std::string_view key) {
  const std::optional<std::string> value = fields.string(key);
  return value ? json::Value(*value) : json::Value(nullptr);
}

json::Value integer_or_null(FieldReader& fields, std::string_view key) {
  const std::optional<int64_t> value = fields.integer(key, 1, kNoLimit);
  return value ? json::Value(*value) : json::Value(nullptr);
}

// The double that is written like `value`: 0.6, not 0.60000002384185791.
double as_written(float value) {
  double out = 0.0;
  const std::string text = fmt::format("{}", value);
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::string members_of(const json::Object& object) {
  const std::string text = json::serialize(object);
  return text.substr(1, text.size() - 2);
}

}  // namespace

Settings read_settings(const SamplingParams& defaults, FieldReader& fields) {
  Settings settings;
  refuse_stateful_fields(fields);
  refuse_truncation(fields);
  read_include(fields, settings);
  const int64_t top_logprobs = fields.integer("top_logprobs", 0, kNoLimit).value_or(0);
  if (top_logprobs > 0 && !settings.logprobs) {
    fields.refuse("top_logprobs",
                  fmt::format("'top_logprobs' needs '{}' in 'include'.", kIncludeLogprobs));
  }
  const json::Object repeated{
      {"background", false},
      {"instructions", string_or_null(fields, "instructions")},
      {"max_output_tokens", integer_or_null(fields, "max_output_tokens")},
      {"max_tool_calls", integer_or_null(fields, "max_tool_calls")},
      {"metadata", repeated_metadata(fields)},
      {"parallel_tool_calls", fields.boolean("parallel_tool_calls", true)},
      {"previous_response_id", nullptr},
      {"prompt_cache_key", string_or_null(fields, "prompt_cache_key")},
      {"reasoning", repeated_reasoning(fields)},
      {"safety_identifier", string_or_null(fields, "safety_identifier")},
      {"service_tier", "default"},
      {"store", false},
      {"temperature", or_default(fields, "temperature", as_written(defaults.temperature))},
      {"text", repeated_text(fields)},
      {"tool_choice", or_default(fields, "tool_choice", "auto")},
      {"tools", or_default(fields, "tools", json::Array{})},
      {"top_logprobs", top_logprobs},
      {"top_p", or_default(fields, "top_p", as_written(defaults.top_p))},
      {"truncation", "disabled"},
      {"user", string_or_null(fields, "user")}};
  settings.repeated = members_of(repeated);
  return settings;
}

}  // namespace deltaserve::responses_api
