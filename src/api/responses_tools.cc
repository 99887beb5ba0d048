// Only name, description and parameters go on: they are what the model is trained to see, and the
// rest (strict, and what concerns OpenAI's own tools) would make another prompt of the same tool.
#include "api/responses_tools.h"

#include <fmt/format.h>

#include <string>

#include "api/field_reader.h"

namespace deltaserve::responses_api {
namespace {

Result<json::Value> chat_tool(const json::Value& value, const std::string& path) {
  if (!value.is_object()) {
    return invalid(fmt::format("'{}' must be an object.", path), path);
  }
  FieldReader tool(value.get_object(), path);
  const std::string type = tool.string("type").value_or("");
  if (tool.ok() && type != "function") {
    tool.refuse("type", fmt::format("'{}.type' '{}' is not supported: this server runs no tools of "
                                    "its own, only 'function' tools are possible.",
                                    path, type));
  }
  if (tool.ok() && tool.value("name") == nullptr) {
    tool.refuse("name", fmt::format("'{}.name' is missing: in the Responses API name, description "
                                    "and parameters stand in the tool itself.",
                                    path));
  }
  tool.optional_boolean("strict");
  if (!tool.ok()) {
    return std::unexpected(tool.error());
  }
  json::Object function;
  for (const std::string_view key : {"name", "description", "parameters"}) {
    if (const json::Value* field = tool.value(key)) {
      function[key] = *field;
    }
  }
  return json::Object{{"type", "function"}, {"function", std::move(function)}};
}

json::Value nested_choice(const json::Value& choice) {
  if (!choice.is_object()) {
    return choice;
  }
  json::Object function = choice.get_object();
  function.stable_erase("type");
  return json::Object{{"type", "function"}, {"function", std::move(function)}};
}

json::Value allowed_tools(const json::Object& choice) {
  json::Object allowed = choice;
  allowed.stable_erase("type");
  json::Value* tools = allowed.if_contains("tools");
  if (tools != nullptr && tools->is_array()) {
    for (json::Value& tool : tools->get_array()) {
      tool = nested_choice(tool);
    }
  }
  return json::Object{{"type", "allowed_tools"}, {"allowed_tools", std::move(allowed)}};
}

}  // namespace

Result<json::Array> chat_tools(const json::Array& tools) {
  json::Array out;
  out.reserve(tools.size());
  for (size_t i = 0; i < tools.size(); ++i) {
    Result<json::Value> tool = chat_tool(tools[i], fmt::format("tools[{}]", i));
    if (!tool) {
      return std::unexpected(std::move(tool.error()));
    }
    out.push_back(*std::move(tool));
  }
  return out;
}

Result<json::Value> chat_tool_choice(const json::Value& choice) {
  if (!choice.is_object()) {
    return choice;
  }
  FieldReader fields(choice.get_object(), "tool_choice");
  const std::string type = fields.string("type").value_or("");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (type == "function") {
    return nested_choice(choice);
  }
  if (type == "allowed_tools") {
    return allowed_tools(choice.get_object());
  }
  return invalid(fmt::format("'tool_choice.type' '{}' is not supported: this server runs no tools "
                             "of its own.",
                             type),
                 "tool_choice.type");
}

}  // namespace deltaserve::responses_api
