// Checks tool declarations as far as the prompt needs: type, name, an object as parameters.
#include "api/tools_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace deltaserve {
namespace {

// OpenAI allows 64; names that tool servers prefix with their own get longer.
constexpr size_t kMaxToolName = 128;

bool valid_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxToolName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

Result<void> check_tool(const json::Value& value, const std::string& path) {
  if (!value.is_object()) {
    return invalid(fmt::format("'{}' must be an object.", path), path);
  }
  FieldReader tool(value.get_object(), path);
  const std::string type = tool.string("type").value_or("");
  const json::Object* function = tool.object("function");
  if (tool.ok() && type != "function") {
    tool.refuse("type", fmt::format("'{}.type' must be 'function', got '{}'.", path, type));
  }
  if (tool.ok() && function == nullptr) {
    tool.refuse("function", fmt::format("'{}.function' is missing.", path));
  }
  if (!tool.ok()) {
    return std::unexpected(tool.error());
  }
  FieldReader fields(*function, path + ".function");
  const std::string name = fields.string("name").value_or("");
  fields.string("description");
  fields.object("parameters");
  if (fields.ok() && !valid_tool_name(name)) {
    fields.refuse("name", fmt::format("'{}.function.name' must be 1 to {} of the characters a-z, "
                                      "A-Z, 0-9, '_', '-' and '.'.",
                                      path, kMaxToolName));
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  return {};
}

// "auto", "none", "required" or {"type":"function","function":{"name":...}}.
void read_tool_choice(FieldReader& fields, ToolFields& out) {
  const json::Value* choice = fields.value("tool_choice");
  if (choice == nullptr || *choice == "auto") {
    return;
  }
  out.forbidden = *choice == "none";
  out.required = *choice == "required" || choice->is_object();
  if (!out.forbidden && !out.required) {
    fields.refuse("tool_choice",
                  "'tool_choice' must be 'auto', 'none', 'required' or an object that names a "
                  "function.");
  }
  if (!choice->is_object()) {
    return;
  }
  FieldReader named(choice->get_object(), "tool_choice");
  const std::string type = named.string("type").value_or("");
  const json::Object* function = named.object("function");
  if (named.ok() && (type != "function" || function == nullptr)) {
    named.refuse("type", "'tool_choice' must have the type 'function' and name one.");
  }
  if (named.ok()) {
    FieldReader inner(*function, "tool_choice.function");
    out.name = inner.string("name").value_or("");
    if (inner.ok() && out.name.empty()) inner.refuse("name", "'tool_choice' names no function.");
    if (!inner.ok()) fields.fail(inner.error());
  } else {
    fields.fail(named.error());
  }
}

// A choice that needs tools has them.
void check_tool_choice(FieldReader& fields, const ToolFields& out) {
  const auto is_named = [&out](const json::Value& tool) {
    return tool.at("function").at("name") == json::Value(out.name);
  };
  if (!out.required || !fields.ok()) {
    return;
  }
  if (out.tools.empty()) {
    fields.refuse("tool_choice", "'tool_choice' asks for a call, but there are no 'tools'.");
  } else if (!out.name.empty() && std::ranges::none_of(out.tools, is_named)) {
    fields.refuse("tool_choice",
                  fmt::format("'tool_choice' names '{}', which is not in 'tools'.", out.name));
  }
}

}  // namespace

ToolFields read_tool_fields(FieldReader& fields) {
  ToolFields out;
  out.parallel = fields.boolean("parallel_tool_calls", true);
  if (fields.value("functions") != nullptr || fields.value("function_call") != nullptr) {
    fields.refuse(fields.value("functions") != nullptr ? "functions" : "function_call",
                  "'functions' and 'function_call' are no longer supported: use 'tools' and "
                  "'tool_choice'.");
  }
  const json::Array* tools = fields.array("tools");
  read_tool_choice(fields, out);
  for (size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    const Result<void> checked = check_tool((*tools)[i], fmt::format("tools[{}]", i));
    if (!checked) {
      fields.fail(checked.error());
      return out;
    }
  }
  if (tools != nullptr) {
    out.tools = *tools;
  }
  check_tool_choice(fields, out);
  return out;
}

}  // namespace deltaserve
