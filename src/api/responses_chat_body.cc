// Fields are copied under chat's names; see the header.
#include "api/responses_chat_body.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "api/field_reader.h"
#include "api/responses_input.h"
#include "api/responses_tools.h"
#include "json/fields.h"

namespace deltaserve::responses_api {
namespace {

// Fields with the same name and meaning in both: OpenAI's, then vLLM's.
constexpr std::array<std::string_view, 36> kSharedFields = {"model",
                                                            "stream",
                                                            "stream_options",
                                                            "temperature",
                                                            "top_p",
                                                            "top_logprobs",
                                                            "parallel_tool_calls",
                                                            "frequency_penalty",
                                                            "presence_penalty",
                                                            "logit_bias",
                                                            "seed",
                                                            "stop",
                                                            "top_k",
                                                            "min_p",
                                                            "repetition_penalty",
                                                            "stop_token_ids",
                                                            "min_tokens",
                                                            "ignore_eos",
                                                            "include_stop_str_in_output",
                                                            "skip_special_tokens",
                                                            "priority",
                                                            "cache_salt",
                                                            "prompt_cache_key",
                                                            "chat_template_kwargs",
                                                            "enable_thinking",
                                                            "thinking",
                                                            "thinking_token_budget",
                                                            "thinking_budget",
                                                            "use_beam_search",
                                                            "guided_json",
                                                            "guided_regex",
                                                            "guided_choice",
                                                            "guided_grammar",
                                                            "structured_outputs",
                                                            "structural_tag",
                                                            "prompt_logprobs"};

// What chat calls a field, and what this endpoint calls it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kRenamed = {{
    {"messages", "input"},
    {"max_completion_tokens", "max_output_tokens"},
    {"reasoning_effort", "reasoning.effort"},
    {"response_format.json_schema", "text.format"},
    {"response_format", "text.format"},
    {"tool_choice.function", "tool_choice"},
}};

json::Value chat_response_format(const json::Object& format) {
  const json::Value* type = format.if_contains("type");
  if (type == nullptr || *type != "json_schema") {
    return format;
  }
  json::Object schema = format;
  schema.stable_erase("type");
  return json::Object{{"type", "json_schema"}, {"json_schema", std::move(schema)}};
}

void copy_renamed(FieldReader& fields, json::Object& chat) {
  if (const json::Value* limit = fields.value("max_output_tokens")) {
    chat["max_completion_tokens"] = *limit;
  }
  if (const json::Object* reasoning = fields.object("reasoning")) {
    if (const json::Value* effort = json::find_field(*reasoning, "effort")) {
      chat["reasoning_effort"] = *effort;
    }
  }
  if (const json::Object* text = fields.object("text")) {
    FieldReader nested(*text, "text");
    if (const json::Object* format = nested.object("format")) {
      chat["response_format"] = chat_response_format(*format);
    }
    if (!nested.ok()) {
      fields.fail(nested.error());
    }
  }
}

void copy_tools(FieldReader& fields, json::Object& chat) {
  const json::Array* tools = fields.array("tools");
  Result<ChatTools> nested = chat_tools(tools, fields.value("tool_choice"));
  if (!nested) {
    fields.fail(std::move(nested.error()));
    return;
  }
  if (tools != nullptr) {
    chat["tools"] = std::move(nested->tools);
  }
  if (!nested->choice.is_null()) {
    chat["tool_choice"] = std::move(nested->choice);
  }
}

bool is_name_end(char c) {
  return c == '\'' || c == '.' || c == '[';
}

// Messages quote the names of fields, so a name begins behind a quote.
void rename_quoted(std::string& text, std::string_view from, std::string_view to) {
  const std::string quoted = fmt::format("'{}", from);
  for (size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at + 1)) {
    const size_t end = at + quoted.size();
    if (end < text.size() && is_name_end(text[end])) {
      text.replace(at + 1, from.size(), to);
    }
  }
}

// "tools[0].function.name" is "tools[0].name" here.
void flatten_tool_names(std::string& text) {
  constexpr std::string_view kNested = "].function.";
  for (size_t at = text.find("tools["); at != std::string::npos; at = text.find("tools[", at + 1)) {
    const size_t bracket = text.find(']', at);
    if (bracket != std::string::npos && text.compare(bracket, kNested.size(), kNested) == 0) {
      text.erase(bracket + 1, kNested.size() - 2);
    }
  }
}

}  // namespace

Error in_own_names(Error error) {
  for (const auto& [from, to] : kRenamed) {
    rename_quoted(error.message, from, to);
    std::string param = fmt::format("'{}'", error.param);
    rename_quoted(param, from, to);
    error.param = param.substr(1, param.size() - 2);
  }
  flatten_tool_names(error.message);
  flatten_tool_names(error.param);
  return error;
}

Result<json::Object> chat_body(const json::Object& body, bool logprobs) {
  FieldReader fields(body);
  json::Object chat;
  for (const std::string_view key : kSharedFields) {
    if (const json::Value* value = fields.value(key)) {
      chat[key] = *value;
    }
  }
  if (logprobs) {
    chat["logprobs"] = true;
  }
  copy_renamed(fields, chat);
  copy_tools(fields, chat);
  const std::optional<std::string> instructions = fields.string("instructions");
  const json::Value* input = fields.value("input");
  if (fields.ok() && input == nullptr) {
    fields.refuse("input", "'input' is missing.");
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  Result<json::Array> messages = chat_messages(*input, instructions);
  if (!messages) {
    return std::unexpected(std::move(messages.error()));
  }
  chat["messages"] = *std::move(messages);
  return chat;
}

}  // namespace deltaserve::responses_api
