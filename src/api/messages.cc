// Message normalisation. What the result may hold: role, content (a string, or parts where there
// are images or videos), name, reasoning_content and reasoning (equal), tool_calls, tool_call_id.
#include "api/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "api/field_reader.h"
#include "api/history_tool_calls.h"
#include "json/fields.h"

namespace deltaserve {
namespace {

Result<std::string> normalize_role(const std::optional<std::string>& role,
                                   const std::string& path) {
  if (!role) {
    return invalid(fmt::format("'{}.role' is missing.", path), path + ".role");
  }
  if (*role == "developer") {
    return "system";
  }
  if (*role == "system" || *role == "user" || *role == "assistant" || *role == "tool") {
    return *role;
  }
  if (*role == "function") {
    return invalid("The role 'function' is no longer supported: use 'tool'.", path + ".role");
  }
  return invalid(fmt::format("'{}.role' must be one of system, developer, user, assistant, tool; "
                             "got '{}'.",
                             path, *role),
                 path + ".role");
}

// The keys that only some roles have; `out` already has role and content.
Result<void> copy_optional_keys(FieldReader& fields, const std::string& role,
                                const std::string& path, json::Object& out) {
  if (const auto name = fields.string("name")) {
    out["name"] = *name;
  }
  if (role == "tool") {
    if (const auto id = fields.string("tool_call_id")) {
      out["tool_call_id"] = *id;
    }
  }
  if (role == "assistant") {
    const std::optional<std::string> older = fields.string("reasoning");
    const std::optional<std::string> reasoning = fields.string("reasoning_content");
    if (reasoning || older) {
      out["reasoning_content"] = reasoning ? *reasoning : *older;
      out["reasoning"] = out["reasoning_content"];
    }
    if (fields.value("function_call") != nullptr) {
      fields.refuse("function_call", "'function_call' is no longer supported: use 'tool_calls'.");
    }
    const json::Array* calls = fields.array("tool_calls");
    if (fields.ok() && calls != nullptr && !calls->empty()) {
      Result<json::Array> normalized = normalize_tool_calls(*calls, path + ".tool_calls");
      if (!normalized) {
        return std::unexpected(std::move(normalized.error()));
      }
      out["tool_calls"] = *std::move(normalized);
    }
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  return {};
}

bool may_hold_media(const std::string& role) {
  return role == "user" || role == "tool";
}

Result<json::Object> normalize_message(const json::Value& value, const std::string& path,
                                       std::vector<MediaPart>& media) {
  if (!value.is_object()) {
    return invalid(fmt::format("'{}' must be an object, got {}.", path, json::kind_name(value)),
                   path);
  }
  FieldReader fields(value.get_object(), path);
  const std::optional<std::string> raw_role = fields.string("role");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  const Result<std::string> role = normalize_role(raw_role, path);
  if (!role) {
    return std::unexpected(role.error());
  }
  Result<std::optional<json::Value>> content = read_content(
      fields.value("content"), path + ".content", may_hold_media(*role) ? &media : nullptr);
  if (!content) {
    return std::unexpected(content.error());
  }
  if (!*content && (*role == "user" || *role == "system")) {
    return invalid(fmt::format("'{}.content' is missing.", path), path + ".content");
  }
  json::Object out{{"role", *role}, {"content", (*std::move(content)).value_or("")}};
  const Result<void> copied = copy_optional_keys(fields, *role, path, out);
  if (!copied) {
    return std::unexpected(copied.error());
  }
  return out;
}

bool is_system(const json::Value& message) {
  return message.at("role") == "system";
}

void append_system_text(json::Value& first, const json::Value& later) {
  std::string text(first.at("content").get_string());
  const std::string_view more(later.at("content").get_string());
  if (!text.empty() && !more.empty()) {
    text += "\n\n";
  }
  text += more;
  first.get_object()["content"] = text;
}

}  // namespace

Result<NormalizedMessages> normalize_messages(const json::Array& messages) {
  if (messages.empty()) {
    return invalid("'messages' must not be empty.", "messages");
  }
  NormalizedMessages normalized;
  json::Array& out = normalized.messages;
  out.reserve(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    Result<json::Object> message =
        normalize_message(messages[i], fmt::format("messages[{}]", i), normalized.media);
    if (!message) {
      return std::unexpected(std::move(message.error()));
    }
    json::Value value(*std::move(message));
    if (out.size() == 1 && is_system(out.front()) && is_system(value)) {
      append_system_text(out.front(), value);
    } else {
      out.push_back(std::move(value));
    }
  }
  return normalized;
}

bool has_later_system(const json::Array& normalized) {
  return std::any_of(normalized.begin() + 1, normalized.end(), is_system);
}

json::Array merge_all_system(const json::Array& normalized) {
  json::Value system(json::Object{{"role", "system"}, {"content", ""}});
  json::Array out;
  out.reserve(normalized.size() + 1);
  out.emplace_back(nullptr);
  for (const json::Value& message : normalized) {
    if (is_system(message)) {
      append_system_text(system, message);
    } else {
      out.push_back(message);
    }
  }
  out.front() = std::move(system);
  return out;
}

}  // namespace deltaserve
