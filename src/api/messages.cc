// Message normalisation. What the result may hold: role, content (always a string), name,
// reasoning_content and reasoning (equal), tool_calls, tool_call_id.
#include "api/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "api/field_reader.h"
#include "api/history_tool_calls.h"
#include "json/fields.h"

namespace deltaserve {
namespace {

// Content part types that carry media, of OpenAI's two APIs and of vLLM.
constexpr std::array<std::string_view, 9> kMediaParts = {"image_url", "image", "input_image",
                                                         "video_url", "video", "input_audio",
                                                         "audio_url", "audio", "file"};

Result<std::string> text_of_part(const json::Value& part, const std::string& path) {
  if (part.is_string()) {
    return std::string(part.get_string());
  }
  if (!part.is_object()) {
    return invalid(fmt::format("'{}' must be an object, got {}.", path, json::kind_name(part)),
                   path);
  }
  FieldReader fields(part.get_object(), path);
  const std::string type = fields.string("type").value_or("");
  const std::string key = type == "refusal" ? "refusal" : "text";
  const std::optional<std::string> text = fields.string(key);
  if (std::ranges::find(kMediaParts, type) != kMediaParts.end()) {
    const bool image = type.find("image") != std::string::npos;
    return invalid(fmt::format("'{}' has type '{}': {} are not supported by this version.", path,
                               type, image ? "images" : "media other than text"),
                   path);
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (type != "text" && type != "input_text" && type != "output_text" && type != "refusal") {
    return invalid(fmt::format("'{}.type' must be 'text', got '{}'.", path, type), path + ".type");
  }
  if (!text) {
    return invalid(fmt::format("'{}.{}' is missing.", path, key), path + "." + key);
  }
  return *text;
}

// The text of `content`; none if it is null or missing.
Result<std::optional<std::string>> text_of_content(const json::Value* content,
                                                   const std::string& path) {
  if (content == nullptr) {
    return std::nullopt;
  }
  if (content->is_string()) {
    return std::string(content->get_string());
  }
  if (!content->is_array()) {
    return invalid(fmt::format("'{}' must be a string or an array of parts, got {}.", path,
                               json::kind_name(*content)),
                   path);
  }
  std::string text;  // parts follow each other without a separator, as the family's templates do
  const json::Array& parts = content->get_array();
  for (size_t i = 0; i < parts.size(); ++i) {
    Result<std::string> piece = text_of_part(parts[i], fmt::format("{}[{}]", path, i));
    if (!piece) {
      return std::unexpected(std::move(piece.error()));
    }
    text += *piece;
  }
  return text;
}

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

Result<json::Object> normalize_message(const json::Value& value, const std::string& path) {
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
  const Result<std::optional<std::string>> content =
      text_of_content(fields.value("content"), path + ".content");
  if (!content) {
    return std::unexpected(content.error());
  }
  if (!*content && (*role == "user" || *role == "system")) {
    return invalid(fmt::format("'{}.content' is missing.", path), path + ".content");
  }
  json::Object out{{"role", *role}, {"content", content->value_or("")}};
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

Result<json::Array> normalize_messages(const json::Array& messages) {
  if (messages.empty()) {
    return invalid("'messages' must not be empty.", "messages");
  }
  json::Array out;
  out.reserve(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    Result<json::Object> message = normalize_message(messages[i], fmt::format("messages[{}]", i));
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
  return out;
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
