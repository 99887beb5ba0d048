// enum and const: the values that every part allows, as they may be written.
#include <algorithm>

#include "grammar/schema_compiler.h"

namespace deltaserve {
namespace {

// JSON Schema's equality: 1 and 1.0 are the same number.
bool equal(const json::Value& a, const json::Value& b) {
  if (a.is_number() && b.is_number()) {
    return a == b || a.to_number<double>() == b.to_number<double>();
  }
  return a == b;
}

}  // namespace

std::optional<ExprId> SchemaCompiler::compile_values(const Conjunction& all, uint32_t types) {
  std::optional<json::Array> values;
  bool other_limits = false;
  std::string path;
  const auto keep = [&](const json::Array& allowed) {
    if (!values) {
      values = allowed;
      return;
    }
    json::Array kept;
    for (const json::Value& value : *values) {
      const auto same = [&](const json::Value& other) { return equal(value, other); };
      if (std::ranges::any_of(allowed, same)) kept.push_back(value);
    }
    values = std::move(kept);
  };
  for (const Part& part : all.parts) {
    for (const auto& [key, value] : part.schema->get_object()) {
      if (key == "enum" && !value.is_array()) {
        return refuse(part.path, "'enum' must be an array.");
      }
      if (key == "enum" || key == "const") {
        keep(key == "enum" ? value.get_array() : json::Array{value});
        path = part.path;
      } else if (key.starts_with("m") || key == "pattern" || key == "format" ||
                 key.starts_with("exclusive") || key.ends_with("tems") ||
                 key.ends_with("roperties") || key == "required" || key == "propertyNames") {
        other_limits = true;
      }
    }
  }
  if (!values) {
    return std::nullopt;
  }
  const ExprId rest =
      other_limits || types != kAnyType ? compile_types(all, false) : ExprPool::kNothing;
  std::vector<ExprId> choices;
  for (const json::Value& value : *values) {
    const bool structured = value.is_object() || value.is_array();
    if (structured && other_limits) {
      return refuse(path, "objects and arrays in 'enum' beside other limits are not supported.");
    }
    const uint32_t type = value.is_object() ? kObject : kArray;
    const bool fits = structured ? (types & type) != 0
                      : rest == ExprPool::kNothing && types == kAnyType
                          ? true
                          : pool_.matches(rest, json::serialize(value));
    if (fits) choices.push_back(value_text(value));
  }
  return pool_.alt(std::move(choices));
}

ExprId SchemaCompiler::value_text(const json::Value& value) {
  if (value.is_object()) {
    ExprId members = ExprPool::kEmpty;
    for (const auto& [key, item] : value.get_object()) {
      const ExprId name = pool_.literal(json::serialize(json::Value(key)));
      const ExprId member = json_.member(name, value_text(item));
      members = members == ExprPool::kEmpty
                    ? member
                    : pool_.concat(members, pool_.concat(json_.comma(), member));
    }
    return json_.bracketed('{', members, '}');
  }
  if (value.is_array()) {
    ExprId items = ExprPool::kEmpty;
    for (const json::Value& item : value.get_array()) {
      items = items == ExprPool::kEmpty
                  ? value_text(item)
                  : pool_.concat(items, pool_.concat(json_.comma(), value_text(item)));
    }
    return json_.bracketed('[', items, ']');
  }
  return pool_.literal(json::serialize(value));
}

}  // namespace deltaserve
