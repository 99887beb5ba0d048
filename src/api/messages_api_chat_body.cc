// Field by field from Anthropic's names to chat's.
#include "api/messages_api_chat_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "api/field_reader.h"
#include "api/messages_api_content.h"
#include "api/messages_api_tools.h"
#include "api/sampling_fields.h"

namespace deltaserve::messages_api {
namespace {

// Fields that mean the same in both protocols; those below the first row are not Anthropic's own.
constexpr std::array<std::string_view, 18> kSharedFields = {"model",
                                                            "max_tokens",
                                                            "stream",
                                                            "temperature",
                                                            "top_p",
                                                            "top_k",
                                                            "min_p",
                                                            "seed",
                                                            "presence_penalty",
                                                            "frequency_penalty",
                                                            "repetition_penalty",
                                                            "logit_bias",
                                                            "min_tokens",
                                                            "ignore_eos",
                                                            "chat_template_kwargs",
                                                            "priority",
                                                            "cache_salt",
                                                            "prompt_cache_key"};

// Each is compared with every byte of the answer.
constexpr size_t kMaxStopSequences = 256;

std::vector<std::string> read_stop_sequences(FieldReader& fields) {
  std::vector<std::string> out;
  const json::Array* list = fields.array("stop_sequences");
  if (list == nullptr) {
    return out;
  }
  if (list->size() > kMaxStopSequences) {
    fields.refuse("stop_sequences", fmt::format("'stop_sequences' may have at most {} strings, "
                                                "got {}.",
                                                kMaxStopSequences, list->size()));
    return out;
  }
  for (const json::Value& entry : *list) {
    if (!entry.is_string() || entry.get_string().empty()) {
      fields.refuse("stop_sequences", "'stop_sequences' must hold strings that are not empty.");
      return {};
    }
    if (entry.get_string().size() > kMaxStopBytes) {
      fields.refuse("stop_sequences", fmt::format("A string of 'stop_sequences' may have at most "
                                                  "{} bytes.",
                                                  kMaxStopBytes));
      return {};
    }
    out.emplace_back(entry.get_string());
  }
  return out;
}

// budget_tokens counts only where thinking is turned on; "adaptive" and "between_tools" leave it as
// the template has it.
void read_thinking(FieldReader& fields, ChatBody& body) {
  const json::Object* thinking = fields.object("thinking");
  if (thinking == nullptr) {
    return;
  }
  FieldReader nested(*thinking, "thinking");
  const std::string type = nested.string("type").value_or("");
  const std::optional<int64_t> budget =
      nested.integer("budget_tokens", 1, std::numeric_limits<int64_t>::max());
  if (nested.ok() && type != "enabled" && type != "disabled" && type != "adaptive" &&
      type != "between_tools") {
    nested.refuse("type", fmt::format("'thinking.type' must be 'enabled', 'disabled', 'adaptive' "
                                      "or 'between_tools', got '{}'.",
                                      type));
  }
  const std::string display = nested.string("display").value_or("summarized");
  if (nested.ok() && display != "summarized" && display != "omitted") {
    nested.refuse("display", fmt::format("'thinking.display' must be 'summarized' or 'omitted', "
                                         "got '{}'.",
                                         display));
  }
  if (!nested.ok()) {
    fields.fail(nested.error());
    return;
  }
  body.omit_thinking = display == "omitted";
  if (type == "enabled" || type == "disabled") {
    body.fields["thinking"] = json::Object{{"type", type}};
  }
  if (type == "enabled" && budget) {
    body.fields["thinking_token_budget"] = *budget;
  }
}

void read_effort(FieldReader& output, json::Object& chat) {
  const std::optional<std::string> effort = output.string("effort");
  if (!effort) {
    return;
  }
  if (*effort == "low" || *effort == "medium" || *effort == "high") {
    chat["reasoning_effort"] = *effort;
  } else if (*effort == "xhigh" || *effort == "max") {
    chat["reasoning_effort"] = "high";
  } else {
    output.refuse("effort", fmt::format("'output_config.effort' must be 'low', 'medium', 'high', "
                                        "'xhigh' or 'max', got '{}'.",
                                        *effort));
  }
}

void read_format(FieldReader& fields, std::string_view key, json::Object& chat) {
  const json::Object* format = fields.object(key);
  if (format == nullptr) {
    return;
  }
  FieldReader nested(*format, fields.name(key));
  const std::string type = nested.string("type").value_or("");
  const json::Object* schema = nested.object("schema");
  if (nested.ok() && type != "json_schema") {
    nested.refuse("type",
                  fmt::format("'{}' must be 'json_schema', got '{}'.", nested.name("type"), type));
  }
  if (nested.ok() && schema == nullptr) {
    nested.refuse("schema", fmt::format("'{}' is missing.", nested.name("schema")));
  }
  if (!nested.ok()) {
    fields.fail(nested.error());
    return;
  }
  chat["response_format"] = json::Object{
      {"type", "json_schema"},
      {"json_schema", json::Object{{"name", "output"}, {"strict", true}, {"schema", *schema}}}};
}

// `output_format` is the older name of output_config.format.
void read_output_config(FieldReader& fields, json::Object& chat) {
  read_format(fields, "output_format", chat);
  const json::Object* config = fields.object("output_config");
  if (config == nullptr) {
    return;
  }
  FieldReader nested(*config, "output_config");
  read_effort(nested, chat);
  read_format(nested, "format", chat);
  if (!nested.ok()) {
    fields.fail(nested.error());
  }
}

// "clear_thinking" edits with keep "all" ask for what templates call preserve_thinking: the
// thoughts of earlier turns stay in the prompt. Other edits shorten a conversation that would still
// be valid.
void read_context_management(FieldReader& fields, json::Object& chat) {
  const json::Object* management = fields.object("context_management");
  if (management == nullptr) {
    return;
  }
  FieldReader nested(*management, "context_management");
  const json::Array* edits = nested.array("edits");
  if (!nested.ok()) {
    fields.fail(nested.error());
    return;
  }
  const auto keeps_thoughts = [](const json::Value& edit) {
    const json::Object* object = edit.if_object();
    const json::Value* type = object != nullptr ? object->if_contains("type") : nullptr;
    const json::Value* keep = object != nullptr ? object->if_contains("keep") : nullptr;
    return type != nullptr && type->is_string() &&
           std::string_view(type->get_string()).starts_with("clear_thinking_") && keep != nullptr &&
           *keep == "all";
  };
  if (edits == nullptr || std::ranges::none_of(*edits, keeps_thoughts)) {
    return;
  }
  json::Value& kwargs = chat["chat_template_kwargs"];
  if (kwargs.is_null()) {
    kwargs.emplace_object();
  }
  if (json::Object* variables = kwargs.if_object()) {
    variables->emplace("preserve_thinking", true);
  }
}

void refuse_mcp_servers(FieldReader& fields) {
  const json::Array* servers = fields.array("mcp_servers");
  if (servers != nullptr && !servers->empty()) {
    fields.refuse("mcp_servers", "'mcp_servers' is not supported: declare their tools in 'tools'.");
  }
}

// A last assistant message is the beginning of the answer.
void continue_last_message(FieldReader& fields, const json::Array& messages, json::Object& chat) {
  const json::Object& last = messages.back().get_object();
  if (last.at("role") != "assistant") {
    return;
  }
  if (last.contains("tool_calls")) {
    fields.refuse("messages",
                  "The last message has 'tool_use' blocks: a user message with their 'tool_result' "
                  "blocks must follow.");
  }
  chat["continue_final_message"] = true;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

Result<ChatBody> chat_body(const json::Object& request) {
  FieldReader fields(request);
  ChatBody body;
  for (const std::string_view key : kSharedFields) {
    if (const json::Value* value = fields.value(key)) {
      body.fields[key] = *value;
    }
  }
  body.stop_sequences = read_stop_sequences(fields);
  read_thinking(fields, body);
  read_output_config(fields, body.fields);
  read_context_management(fields, body.fields);
  refuse_mcp_servers(fields);
  read_tools(fields, body.fields);
  const json::Array* messages = fields.array("messages");
  if (fields.ok() && messages == nullptr) {
    fields.refuse("messages", "'messages' is missing.");
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  Result<json::Array> turns = chat_messages(fields.value("system"), *messages);
  if (!turns) {
    return std::unexpected(std::move(turns.error()));
  }
  continue_last_message(fields, *turns, body.fields);
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  body.fields["messages"] = *std::move(turns);
  return body;
}

Error in_client_terms(Error error) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames = {{
      {".function.parameters", ".input_schema"},
      {".function.", "."},
      {"thinking_token_budget", "thinking.budget_tokens"},
      {"response_format.json_schema.schema", "output_config.format.schema"},
      {"response_format", "output_config.format"},
      {"reasoning_effort", "output_config.effort"},
  }};
  for (const auto& [chat, client] : kNames) {
    if (error.param.find(chat) != std::string::npos) {
      replace_all(error.param, chat, client);
      replace_all(error.message, chat, client);
    }
  }
  return error;
}

}  // namespace deltaserve::messages_api
