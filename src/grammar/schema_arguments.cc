// Arguments written one by one: a string stands as it is, everything else as JSON.
#include <algorithm>
#include <utility>

#include "grammar/schema_compiler.h"

namespace deltaserve {

Result<SchemaArguments> compile_schema_arguments(ExprPool& pool, JsonText& json,
                                                 const json::Value& parameters,
                                                 const ArgumentText& text,
                                                 const SchemaLimits& limits) {
  return SchemaCompiler(pool, json, parameters, limits).run_arguments(text);
}

Result<SchemaArguments> SchemaCompiler::run_arguments(const ArgumentText& text) {
  Conjunction all;
  if (!flatten({&root_, "$"}, all) || (common_types(all) & kObject) == 0) {
    refuse("$", "parameters must be the schema of an object.");
  }
  SchemaArguments result;
  for (const Part& part : all.parts) {
    for (const std::string_view key : {"anyOf", "oneOf", "enum", "const", "patternProperties",
                                       "minProperties", "maxProperties", "propertyNames"}) {
      if (find(part, key) != nullptr) {
        refuse(part.path, "parameters may only say which properties there are.");
      }
    }
    const json::Value* others = find(part, "additionalProperties");
    result.others_allowed = result.others_allowed || (others != nullptr && *others != false);
  }
  for (Property& property : error_ ? std::vector<Property>{} : property_names(all)) {
    const ExprId value = argument_value(property_schemas(all, property.name), text);
    result.named.push_back({std::move(property.name), property.required, value});
  }
  if (error_) {
    return std::unexpected(*error_);
  }
  return result;
}

ExprId SchemaCompiler::argument_value(const Conjunction& all, const ArgumentText& text) {
  Conjunction flat;
  flat.chosen = all.chosen;
  for (const Part& part : all.parts) {
    if (!flatten(part, flat)) return ExprPool::kNothing;
  }
  if (over_limits()) {
    return ExprPool::kNothing;
  }
  for (const Part& part : flat.parts) {
    for (const std::string_view key : {"anyOf", "oneOf"}) {
      const json::Value* members = find(part, key);
      if (members == nullptr || std::ranges::find(flat.chosen, members) != flat.chosen.end()) {
        continue;
      }
      if (key == "oneOf" && !members_disjoint(part)) return ExprPool::kNothing;
      std::vector<ExprId> choices;
      for (size_t i = 0; i < members->get_array().size(); ++i) {
        Conjunction one = flat;
        one.chosen.push_back(members);
        one.parts.push_back(element(part, key, i));
        choices.push_back(argument_value(one, text));
      }
      return pool_.alt(choices);
    }
  }
  return argument_of_types(flat, text);
}

ExprId SchemaCompiler::argument_of_types(const Conjunction& all, const ArgumentText& text) {
  const bool strings = (common_types(all) & kString) != 0;
  const ExprId content = strings ? string_content(all, &text) : ExprPool::kNothing;
  const std::optional<json::Array> values = common_values(all);
  if (!values) {
    const uint32_t others = kAnyType & ~uint32_t{kString};
    return pool_.alt(content, compile_types(all, false, others));
  }
  std::vector<ExprId> choices;
  for (const json::Value& value : *values) {
    if (!value.is_string()) {
      choices.push_back(value_text(value));
    } else if (pool_.matches(content, std::string_view(value.get_string()))) {
      choices.push_back(pool_.literal(std::string_view(value.get_string())));
    }
  }
  return pool_.alt(choices);
}

}  // namespace deltaserve
