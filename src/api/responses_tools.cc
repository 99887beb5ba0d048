// Only what a chat request says of a function goes on: the rest, and a `strict` that asks for
// nothing, would make another prompt of the same tool.
#include "api/responses_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

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
  const bool strict = tool.boolean("strict", false);
  if (!tool.ok()) {
    return std::unexpected(tool.error());
  }
  json::Object function;
  for (const std::string_view key : {"name", "description", "parameters"}) {
    if (const json::Value* field = tool.value(key)) {
      function[key] = *field;
    }
  }
  if (strict) {
    function["strict"] = true;
  }
  return json::Object{{"type", "function"}, {"function", std::move(function)}};
}

Result<json::Array> nested_tools(const json::Array& tools) {
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

const json::Value* find_tool(const json::Array& tools, const json::Value& name) {
  const auto found = std::ranges::find_if(tools, [&](const json::Value& tool) {
    const json::Value* own = tool.at("function").get_object().if_contains("name");
    return own != nullptr && *own == name;
  });
  return found == tools.end() ? nullptr : &*found;
}

// One entry of allowed_tools.tools among the nested tools.
Result<json::Value> allowed_tool(const json::Value& entry, const std::string& path,
                                 const json::Array& tools) {
  if (!entry.is_object()) {
    return invalid(fmt::format("'{}' must be an object.", path), path);
  }
  FieldReader fields(entry.get_object(), path);
  const std::string type = fields.string("type").value_or("function");
  const std::string name = fields.string("name").value_or("");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  const json::Value* tool = type == "function" ? find_tool(tools, json::Value(name)) : nullptr;
  if (tool == nullptr) {
    return invalid(fmt::format("'{}' names no function of 'tools'.", path), path);
  }
  return *tool;
}

Result<ChatTools> allow(FieldReader& choice, const json::Array& tools) {
  const std::string mode = choice.string("mode").value_or("");
  const json::Array* allowed = choice.array("tools");
  if (choice.ok() && mode != "auto" && mode != "required") {
    choice.refuse("mode", "'tool_choice.mode' must be 'auto' or 'required'.");
  }
  if (choice.ok() && (allowed == nullptr || allowed->empty())) {
    choice.refuse("tools", "'tool_choice.tools' must name at least one tool.");
  }
  if (!choice.ok()) {
    return std::unexpected(choice.error());
  }
  ChatTools out;
  out.choice = mode;
  for (size_t i = 0; i < allowed->size(); ++i) {
    Result<json::Value> tool =
        allowed_tool((*allowed)[i], fmt::format("tool_choice.tools[{}]", i), tools);
    if (!tool) {
      return std::unexpected(std::move(tool.error()));
    }
    out.tools.push_back(*std::move(tool));
  }
  return out;
}

Result<ChatTools> choose(const json::Object& choice, json::Array tools) {
  FieldReader fields(choice, "tool_choice");
  const std::string type = fields.string("type").value_or("");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (type == "allowed_tools") {
    return allow(fields, tools);
  }
  if (type != "function") {
    return invalid(fmt::format("'tool_choice.type' '{}' is not supported: this server runs no "
                               "tools of its own.",
                               type),
                   "tool_choice.type");
  }
  json::Object function = choice;
  function.stable_erase("type");
  return ChatTools{std::move(tools),
                   json::Object{{"type", "function"}, {"function", std::move(function)}}};
}

}  // namespace

Result<ChatTools> chat_tools(const json::Array* tools, const json::Value* choice) {
  Result<json::Array> nested = nested_tools(tools != nullptr ? *tools : json::Array{});
  if (!nested) {
    return std::unexpected(std::move(nested.error()));
  }
  if (choice != nullptr && choice->is_object()) {
    return choose(choice->get_object(), *std::move(nested));
  }
  return ChatTools{*std::move(nested), choice != nullptr ? *choice : json::Value()};
}

}  // namespace deltaserve::responses_api
