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

// Whether the choice is "none".
bool forbids_tools(FieldReader& fields) {
  const json::Value* choice = fields.value("tool_choice");
  if (choice == nullptr || *choice == "auto") {
    return false;
  }
  if (*choice == "none") {
    return true;
  }
  if (*choice == "required" || choice->is_object()) {
    fields.refuse("tool_choice",
                  "This 'tool_choice' needs structured output, which is not part of this version: "
                  "use 'auto' or 'none'.");
  } else {
    fields.refuse("tool_choice", "'tool_choice' must be 'auto' or 'none'.");
  }
  return false;
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
  out.forbidden = forbids_tools(fields);
  if (tools == nullptr) {
    return out;
  }
  for (size_t i = 0; i < tools->size(); ++i) {
    const Result<void> checked = check_tool((*tools)[i], fmt::format("tools[{}]", i));
    if (!checked) {
      fields.fail(checked.error());
      return out;
    }
  }
  out.tools = *tools;
  return out;
}

void read_response_format(FieldReader& fields) {
  const json::Object* format = fields.object("response_format");
  if (format == nullptr) {
    return;
  }
  FieldReader nested(*format, "response_format");
  const std::string type = nested.string("type").value_or("");
  if (!nested.ok()) {
    fields.fail(nested.error());
  } else if (type == "json_object" || type == "json_schema") {
    fields.fail(Error{ErrorCode::kInvalidArgument,
                      fmt::format("'response_format.type' '{}' needs structured output, which is "
                                  "not part of this version.",
                                  type),
                      "response_format", ""});
  } else if (type != "text") {
    fields.fail(Error{ErrorCode::kInvalidArgument,
                      "'response_format.type' must be 'text', 'json_object' or 'json_schema'.",
                      "response_format.type", ""});
  }
}

}  // namespace deltaserve
