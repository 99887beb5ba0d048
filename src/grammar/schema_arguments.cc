// Arguments written one by one: a string stands as it is, everything else as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grammar/schema_compiler.h"

namespace deltaserve {

Result<SchemaArguments> compile_schema_arguments(ExprPool& pool, JsonText& json,
                                                 const json::Value& parameters,
                                                 const ArgumentTextOf& text_of,
                                                 const SchemaLimits& limits) {
  return SchemaCompiler(pool, json, parameters, limits).run_arguments(text_of);
}

Result<SchemaArguments> SchemaCompiler::run_arguments(const ArgumentTextOf& text_of) {
  Conjunction all;
  if (!flatten({&root_, "$"}, all) || (common_types(all) & kObject) == 0) {
    refuse("$", "parameters must be the schema of an object.");
  }
  bool others_allowed = false;
  for (const Part& part : all.parts) {
    for (const std::string_view key : {"anyOf", "oneOf", "enum", "const", "patternProperties",
                                       "minProperties", "maxProperties", "propertyNames"}) {
      if (find(part, key) != nullptr) {
        refuse(part.path, fmt::format("'{}' is not supported here: parameters may only say which "
                                      "properties there are.",
                                      key));
      }
    }
    others_allowed = others_allowed || find(part, "additionalProperties") != nullptr;
  }
  if (error_) {
    return std::unexpected(*error_);
  }
  SchemaArguments result;
  for (Property& property : property_names(all)) {
    const ExprId value =
        argument_value(property_schemas(all, property.name), text_of(property.name));
    result.named.push_back({std::move(property.name), property.required, value});
  }
  if (others_allowed) {
    Conjunction other;
    for (const Part& part : all.parts) {
      if (find(part, "additionalProperties") != nullptr) {
        other.parts.push_back(member(part, "additionalProperties"));
      }
    }
    result.other = argument_value(other, text_of(""));
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
  if (std::ranges::all_of(flat.parts, says_nothing)) {
    return text.anything;
  }
  for (const Part& part : flat.parts) {
    for (const std::string_view key : {"anyOf", "oneOf"}) {
      const json::Value* members = find(part, key);
      if (members == nullptr || std::ranges::find(flat.chosen, members) != flat.chosen.end()) {
        continue;
      }
      if (key == "oneOf" && !members_disjoint(flat, part)) return ExprPool::kNothing;
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
  const uint32_t others = common_types(all) & ~uint32_t{kString};
  if (!values) {
    return pool_.alt(content, compile_types(all, false, others));
  }
  std::vector<ExprId> choices = {compile_values(all, others).value_or(ExprPool::kNothing)};
  for (const json::Value& value : *values) {
    if (value.is_string() && pool_.matches(content, std::string_view(value.get_string()))) {
      choices.push_back(pool_.literal(std::string_view(value.get_string())));
    }
  }
  return pool_.alt(choices);
}

}  // namespace deltaserve
