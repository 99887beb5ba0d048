// Tool declarations: {name, description, input_schema} to {type, function}.
#include "api/messages_api_tools.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "json/fields.h"

namespace deltaserve::messages_api {
namespace {

Result<json::Value> chat_tool(const json::Value& value, const std::string& path) {
  if (!value.is_object()) {
    return invalid(fmt::format("'{}' must be an object, got {}.", path, json::kind_name(value)),
                   path);
  }
  FieldReader fields(value.get_object(), path);
  const std::string type = fields.string("type").value_or("custom");
  if (fields.ok() && type != "custom") {
    fields.refuse("type", fmt::format("'{}' is of type '{}', which this server does not have: "
                                      "declare it as a custom tool with an 'input_schema'.",
                                      path, type));
  }
  const std::optional<std::string> name = fields.string("name");
  const std::optional<std::string> description = fields.string("description");
  const json::Object* schema = fields.object("input_schema");
  const bool strict = fields.boolean("strict", false);
  if (fields.ok() && !name) {
    fields.refuse("name", fmt::format("'{}.name' is missing.", path));
  }
  if (fields.ok() && schema == nullptr) {
    fields.refuse("input_schema", fmt::format("'{}.input_schema' is missing.", path));
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  json::Object function{{"name", *name}};
  if (description) {
    function["description"] = *description;
  }
  function["parameters"] = *schema;
  if (strict) {
    function["strict"] = true;
  }
  return json::Value(json::Object{{"type", "function"}, {"function", std::move(function)}});
}

void read_choice(FieldReader& fields, json::Object& chat) {
  const json::Object* choice = fields.object("tool_choice");
  if (choice == nullptr) {
    return;
  }
  FieldReader nested(*choice, "tool_choice");
  const std::string type = nested.string("type").value_or("");
  const bool parallel = !nested.boolean("disable_parallel_tool_use", false);
  const std::optional<std::string> name = nested.string("name");
  if (nested.ok() && type == "tool" && !name) {
    nested.refuse("name", "'tool_choice.name' is missing.");
  }
  if (!nested.ok()) {
    fields.fail(nested.error());
  } else if (type == "auto" || type == "none") {
    chat["tool_choice"] = type;
  } else if (type == "any") {
    chat["tool_choice"] = "required";
  } else if (type == "tool") {
    chat["tool_choice"] =
        json::Object{{"type", "function"}, {"function", json::Object{{"name", *name}}}};
  } else {
    nested.refuse("type", fmt::format("'tool_choice.type' must be 'auto', 'none', 'any' or "
                                      "'tool', got '{}'.",
                                      type));
    fields.fail(nested.error());
  }
  if (!parallel) {
    chat["parallel_tool_calls"] = false;
  }
}

}  // namespace

void read_tools(FieldReader& fields, json::Object& chat) {
  read_choice(fields, chat);
  const json::Array* tools = fields.array("tools");
  if (tools == nullptr) {
    return;
  }
  json::Array out;
  out.reserve(tools->size());
  for (size_t i = 0; i < tools->size(); ++i) {
    Result<json::Value> tool = chat_tool((*tools)[i], fmt::format("tools[{}]", i));
    if (!tool) {
      fields.fail(std::move(tool.error()));
      return;
    }
    out.push_back(*std::move(tool));
  }
  chat["tools"] = std::move(out);
}

}  // namespace deltaserve::messages_api
