// Tool declarations to argument types.
#include "chat/tool_set.h"

#include <fmt/format.h>

#include <algorithm>

namespace deltaserve {
namespace {

// allOf parts of a parameters object are rarely nested; deeper ones declare nothing.
constexpr int kMaxParts = 8;

void add_parameters(const json::Value& value, const json::Value& root, int depth,
                    DeclaredTool& tool) {
  const json::Value& followed = follow_references(value, root);
  if (!followed.is_object() || depth > kMaxParts) return;
  const json::Object& schema = followed.get_object();
  if (const json::Value* properties = schema.if_contains("properties");
      properties != nullptr && properties->is_object()) {
    for (const auto& [key, property] : properties->get_object()) {
      tool.parameters[std::string(key)] = argument_types(property, root);
    }
  }
  if (const json::Value* other = schema.if_contains("additionalProperties");
      other != nullptr && other->is_object()) {
    tool.other = argument_types(*other, root);
  }
  if (const json::Value* parts = schema.if_contains("allOf"); parts && parts->is_array()) {
    for (const json::Value& part : parts->get_array()) {
      add_parameters(part, root, depth + 1, tool);
    }
  }
}

}  // namespace

const ArgumentTypes& DeclaredTool::types(std::string_view key) const {
  const auto found = parameters.find(key);
  return found == parameters.end() ? other : found->second;
}

Result<ToolSet> ToolSet::from_json(const json::Array& tools) {
  ToolSet set;
  for (size_t i = 0; i < tools.size(); ++i) {
    const json::Value* function = &tools[i];
    if (function->is_object() && function->get_object().contains("function")) {
      function = &function->get_object().at("function");
    }
    const json::Value* name =
        function->is_object() ? function->get_object().if_contains("name") : nullptr;
    if (name == nullptr || !name->is_string() || name->get_string().empty()) {
      return invalid(fmt::format("'tools[{}]' has no function name.", i),
                     fmt::format("tools[{}]", i));
    }
    DeclaredTool& tool = set.tools_.emplace_back();
    tool.name = std::string(name->get_string());
    if (const json::Value* parameters = function->get_object().if_contains("parameters")) {
      add_parameters(*parameters, *parameters, 0, tool);
    }
  }
  return set;
}

const DeclaredTool* ToolSet::find(std::string_view name) const {
  const auto found = std::ranges::find(tools_, name, &DeclaredTool::name);
  return found == tools_.end() ? nullptr : &*found;
}

}  // namespace deltaserve
