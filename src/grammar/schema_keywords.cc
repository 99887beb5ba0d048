// Which keywords are known, what type each has, and which say nothing about texts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "grammar/schema_compiler.h"

namespace deltaserve {
namespace {

enum class Shape : uint8_t {
  kIgnored,  // annotations
  kAny,
  kText,
  kNumber,
  kCount,
  kBoolean,
  kTypes,
  kTexts,
  kSchema,
  kSchemas,  // a non-empty array
  kSchemaMap,
  kItems,  // a schema, or an array of them as older drafts have it
  kUnsupported,
};

struct Keyword {
  std::string_view name;
  Shape shape;
};

constexpr std::array kKeywords = {
    Keyword{"$schema", Shape::kIgnored},
    Keyword{"$id", Shape::kIgnored},
    Keyword{"$comment", Shape::kIgnored},
    Keyword{"$anchor", Shape::kIgnored},
    Keyword{"$defs", Shape::kIgnored},
    Keyword{"definitions", Shape::kIgnored},
    Keyword{"contentMediaType", Shape::kIgnored},
    Keyword{"contentEncoding", Shape::kIgnored},
    Keyword{"contentSchema", Shape::kIgnored},
    Keyword{"title", Shape::kIgnored},
    Keyword{"description", Shape::kIgnored},
    Keyword{"default", Shape::kIgnored},
    Keyword{"example", Shape::kIgnored},
    Keyword{"examples", Shape::kIgnored},
    Keyword{"deprecated", Shape::kIgnored},
    Keyword{"readOnly", Shape::kIgnored},
    Keyword{"writeOnly", Shape::kIgnored},
    Keyword{"strict", Shape::kIgnored},
    Keyword{"discriminator", Shape::kIgnored},  // OpenAPI's: oneOf says the same
    Keyword{"externalDocs", Shape::kIgnored},
    Keyword{"xml", Shape::kIgnored},
    Keyword{"$ref", Shape::kText},
    Keyword{"type", Shape::kTypes},
    Keyword{"nullable", Shape::kBoolean},
    Keyword{"enum", Shape::kAny},
    Keyword{"const", Shape::kAny},
    Keyword{"allOf", Shape::kSchemas},
    Keyword{"anyOf", Shape::kSchemas},
    Keyword{"oneOf", Shape::kSchemas},
    Keyword{"minLength", Shape::kCount},
    Keyword{"maxLength", Shape::kCount},
    Keyword{"pattern", Shape::kText},
    Keyword{"format", Shape::kText},
    Keyword{"minimum", Shape::kNumber},
    Keyword{"maximum", Shape::kNumber},
    Keyword{"exclusiveMinimum", Shape::kNumber},
    Keyword{"exclusiveMaximum", Shape::kNumber},
    Keyword{"multipleOf", Shape::kNumber},
    Keyword{"items", Shape::kItems},
    Keyword{"prefixItems", Shape::kSchemas},
    Keyword{"additionalItems", Shape::kSchema},
    Keyword{"minItems", Shape::kCount},
    Keyword{"maxItems", Shape::kCount},
    Keyword{"properties", Shape::kSchemaMap},
    Keyword{"patternProperties", Shape::kSchemaMap},
    Keyword{"additionalProperties", Shape::kSchema},
    Keyword{"propertyNames", Shape::kSchema},
    Keyword{"required", Shape::kTexts},
    Keyword{"minProperties", Shape::kCount},
    Keyword{"maxProperties", Shape::kCount},
};

bool is_schema(const json::Value& value) {
  return value.is_object() || value.is_bool();
}

bool are_schemas(const json::Value& value) {
  return value.is_array() && !value.get_array().empty() &&
         std::ranges::all_of(value.get_array(), is_schema);
}

bool has_shape(const json::Value& value, Shape shape) {
  switch (shape) {
    case Shape::kText:
      return value.is_string();
    case Shape::kNumber:
      return value.is_number();
    case Shape::kCount:
      return (value.is_int64() && value.get_int64() >= 0) || value.is_uint64() ||
             (value.is_double() && value.get_double() >= 0 &&
              value.get_double() == std::floor(value.get_double()));
    case Shape::kBoolean:
      return value.is_bool();
    case Shape::kTypes:
      return value.is_string() || (value.is_array() && !value.get_array().empty());
    case Shape::kTexts:
      return value.is_array() && std::ranges::all_of(value.get_array(), [](const json::Value& v) {
               return v.is_string();
             });
    case Shape::kSchema:
      return is_schema(value);
    case Shape::kSchemas:
      return are_schemas(value);
    case Shape::kItems:
      return is_schema(value) || are_schemas(value);
    case Shape::kSchemaMap:
      return value.is_object() && std::ranges::all_of(value.get_object(), [](const auto& entry) {
               return is_schema(entry.value());
             });
    default:
      return true;
  }
}

}  // namespace

bool SchemaCompiler::check_keywords(const Part& part) {
  if (!part.schema->is_object()) {
    refuse(part.path, "a schema must be an object or a boolean.");
    return false;
  }
  for (const auto& [key, value] : part.schema->get_object()) {
    const auto known = std::ranges::find(kKeywords, std::string_view(key), &Keyword::name);
    if (known == kKeywords.end()) {
      if (key.starts_with("x-") || (key == "uniqueItems" && value == false)) continue;
      refuse(part.path, fmt::format("the keyword '{}' is not supported.", std::string_view(key)));
      return false;
    }
    if (!has_shape(value, known->shape)) {
      refuse(part.path, fmt::format("the keyword '{}' has a wrong value.", std::string_view(key)));
      return false;
    }
  }
  return true;
}

bool SchemaCompiler::says_nothing(const Part& part) {
  return std::ranges::all_of(part.schema->get_object(), [](const auto& entry) {
    const auto known = std::ranges::find(kKeywords, std::string_view(entry.key()), &Keyword::name);
    return known == kKeywords.end() || known->shape == Shape::kIgnored;
  });
}

uint32_t SchemaCompiler::types_of(const Part& part) {
  static constexpr std::array<std::pair<std::string_view, uint32_t>, 7> kTypes = {
      {{"null", kNull},
       {"boolean", kBoolean},
       {"string", kString},
       {"number", kNumber | kInteger},
       {"integer", kInteger},
       {"array", kArray},
       {"object", kObject}}};
  const json::Value* type = find(part, "type");
  if (type == nullptr) {
    return kAnyType;
  }
  uint32_t types = 0;
  const auto add = [&](const json::Value& name) {
    const auto known = std::ranges::find_if(kTypes, [&](const auto& entry) {
      return name.is_string() && entry.first == std::string_view(name.get_string());
    });
    if (known == kTypes.end()) {
      refuse(part.path, fmt::format("'type' must name JSON types, got {}.", json::dumps(name)));
    } else {
      types |= known->second;
    }
  };
  if (type->is_array()) {
    for (const json::Value& name : type->get_array()) add(name);
  } else {
    add(*type);
  }
  const json::Value* nullable = find(part, "nullable");
  return nullable != nullptr && nullable->get_bool() ? types | kNull : types;
}

const json::Value* SchemaCompiler::find(const Part& part, std::string_view key) {
  return part.schema->get_object().if_contains(key);
}

namespace {

int32_t count_of(const json::Value& value) {
  constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
  if (value.is_double()) {
    return value.get_double() >= kLargest ? kLargest : static_cast<int32_t>(value.get_double());
  }
  if (value.is_uint64()) {
    return value.get_uint64() >= kLargest ? kLargest : static_cast<int32_t>(value.get_uint64());
  }
  return value.get_int64() >= kLargest ? kLargest : static_cast<int32_t>(value.get_int64());
}

}  // namespace

int32_t SchemaCompiler::largest(const Conjunction& all, std::string_view key, int32_t fallback) {
  for (const Part& part : all.parts) {
    if (const json::Value* value = find(part, key)) fallback = std::max(fallback, count_of(*value));
  }
  return fallback;
}

// `fallback` kUnbounded stands for "no limit".
int32_t SchemaCompiler::smallest(const Conjunction& all, std::string_view key, int32_t fallback) {
  for (const Part& part : all.parts) {
    const json::Value* value = find(part, key);
    if (value == nullptr) continue;
    const int32_t count = count_of(*value);
    fallback = fallback == ExprPool::kUnbounded ? count : std::min(fallback, count);
  }
  return fallback;
}

}  // namespace deltaserve
