// One function an item type; paths in errors are those of the Responses request.
#include "api/responses_input.h"

#include <fmt/format.h>

#include "api/field_reader.h"
#include "api/responses_content.h"
#include "api/responses_turns.h"
#include "json/fields.h"

namespace deltaserve::responses_api {
namespace {

std::unexpected<Error> wrong_kind(const std::string& path, std::string_view wanted,
                                  const json::Value& value) {
  return invalid(fmt::format("'{}' must be {}, got {}.", path, wanted, json::kind_name(value)),
                 path);
}

std::unexpected<Error> missing(const std::string& path) {
  return invalid(fmt::format("'{}' is missing.", path), path);
}

Result<void> add_message(FieldReader& fields, TurnList& turns) {
  const std::optional<std::string> role = fields.string("role");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (!role) {
    return missing(fields.name("role"));
  }
  const bool assistant = *role == "assistant";
  if (!assistant && *role != "user" && *role != "system" && *role != "developer") {
    return invalid(fmt::format("'{}' must be one of user, assistant, system, developer; got '{}'.",
                               fields.name("role"), *role),
                   fields.name("role"));
  }
  const json::Value* content = fields.value("content");
  if (content == nullptr) {
    return missing(fields.name("content"));
  }
  Result<json::Value> read = read_item_content(*content, fields.name("content"), *role == "user");
  if (!read) {
    return std::unexpected(std::move(read.error()));
  }
  if (assistant) {
    turns.add_text(read->get_string());
  } else {
    turns.add_message(*role, *std::move(read));
  }
  return {};
}

Result<void> add_call(FieldReader& fields, TurnList& turns) {
  const std::optional<std::string> id = fields.string("call_id");
  const std::optional<std::string> name = fields.string("name");
  const json::Value* arguments = fields.value("arguments");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (!name || name->empty()) {
    return missing(fields.name("name"));
  }
  if (arguments != nullptr && !arguments->is_string() && !arguments->is_object()) {
    return wrong_kind(fields.name("arguments"), "a string", *arguments);
  }
  json::Object call;
  if (id) {
    call["id"] = *id;
  }
  call["type"] = "function";
  json::Object& function = call["function"].emplace_object();
  function["name"] = *name;
  if (arguments != nullptr) {
    function["arguments"] = *arguments;
  }
  turns.add_call(std::move(call));
  return {};
}

Result<void> add_call_output(FieldReader& fields, TurnList& turns) {
  const std::optional<std::string> id = fields.string("call_id");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  const json::Value* output = fields.value("output");
  if (output == nullptr) {
    return missing(fields.name("output"));
  }
  Result<json::Value> read = read_item_content(*output, fields.name("output"), true);
  if (!read) {
    return std::unexpected(std::move(read.error()));
  }
  turns.add_tool_result(id, *std::move(read));
  return {};
}

// The texts of `content` or `summary`, one paragraph each; none if there are no entries.
Result<std::optional<std::string>> paragraphs(FieldReader& fields, std::string_view key) {
  const json::Array* entries = fields.array(key);
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (entries == nullptr || entries->empty()) {
    return std::nullopt;
  }
  std::string text;
  for (size_t i = 0; i < entries->size(); ++i) {
    const std::string path = fmt::format("{}[{}]", fields.name(key), i);
    if (!(*entries)[i].is_object()) {
      return wrong_kind(path, "an object", (*entries)[i]);
    }
    FieldReader entry((*entries)[i].get_object(), path);
    const std::optional<std::string> piece = entry.string("text");
    if (!entry.ok()) {
      return std::unexpected(entry.error());
    }
    if (!piece) {
      return missing(entry.name("text"));
    }
    text += i == 0 ? "" : "\n\n";
    text += *piece;
  }
  return text;
}

// The thought out of this server's own encrypted_content; another server's cannot be read.
std::optional<std::string> carried_reasoning(FieldReader& fields) {
  const std::optional<std::string> carried = fields.string("encrypted_content");
  if (!carried || !carried->starts_with(kReasoningCarrier)) {
    return std::nullopt;
  }
  return carried->substr(kReasoningCarrier.size());
}

// The thought itself if it is there, else what stands for it.
Result<void> add_reasoning(FieldReader& fields, TurnList& turns) {
  const Result<std::optional<std::string>> content = paragraphs(fields, "content");
  if (!content) {
    return std::unexpected(content.error());
  }
  const Result<std::optional<std::string>> summary = paragraphs(fields, "summary");
  if (!summary) {
    return std::unexpected(summary.error());
  }
  const std::optional<std::string> carried = carried_reasoning(fields);
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  for (const std::optional<std::string>& text : {*content, carried, *summary}) {
    if (text) {
      turns.add_reasoning(*text);
      break;
    }
  }
  return {};
}

// The type of an item; messages may leave it out, and so may references.
Result<std::string> item_type(FieldReader& fields, const std::string& path) {
  const std::optional<std::string> type = fields.string("type");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (type) {
    return *type;
  }
  if (fields.value("role") != nullptr) {
    return "message";
  }
  return fields.value("id") != nullptr ? Result<std::string>("item_reference")
                                       : missing(path + ".type");
}

Result<void> add_item(const json::Value& item, const std::string& path, TurnList& turns) {
  if (!item.is_object()) {
    return wrong_kind(path, "an object", item);
  }
  FieldReader fields(item.get_object(), path);
  const Result<std::string> type = item_type(fields, path);
  if (!type) {
    return std::unexpected(type.error());
  }
  if (*type == "message") {
    return add_message(fields, turns);
  }
  if (*type == "function_call") {
    return add_call(fields, turns);
  }
  if (*type == "function_call_output") {
    return add_call_output(fields, turns);
  }
  if (*type == "reasoning") {
    return add_reasoning(fields, turns);
  }
  if (*type == "item_reference") {
    return invalid(fmt::format("'{}' refers to a stored item, but this server stores nothing: send "
                               "the item itself.",
                               path),
                   path);
  }
  return invalid(fmt::format("'{}.type' '{}' is not supported: items are 'message', 'reasoning', "
                             "'function_call' and 'function_call_output'.",
                             path, *type),
                 path + ".type");
}

}  // namespace

Result<json::Array> chat_messages(const json::Value& input,
                                  const std::optional<std::string>& instructions) {
  TurnList turns;
  if (instructions && !instructions->empty()) {
    turns.add_message("system", json::Value(*instructions));
  }
  if (input.is_string()) {
    turns.add_message("user", input);
    return turns.take();
  }
  if (!input.is_array()) {
    return wrong_kind("input", "a string or an array of items", input);
  }
  const json::Array& items = input.get_array();
  if (items.empty()) {
    return invalid("'input' must not be empty.", "input");
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const Result<void> added = add_item(items[i], fmt::format("input[{}]", i), turns);
    if (!added) {
      return std::unexpected(added.error());
    }
  }
  json::Array messages = turns.take();
  if (messages.empty()) {
    return invalid("'input' has no item that can be shown to the model.", "input");
  }
  return messages;
}

}  // namespace deltaserve::responses_api
