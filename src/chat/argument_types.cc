// Schema to types, text to typed JSON.
#include "chat/argument_types.h"

#include <algorithm>
#include <optional>

#include "chat/output_match.h"

namespace deltaserve {
namespace {

// Nested or circular references beyond this allow every type.
constexpr int kMaxSchemaDepth = 16;

ArgumentTypes unite(const ArgumentTypes& a, const ArgumentTypes& b) {
  return {a.string || b.string, a.number || b.number, a.boolean || b.boolean,
          a.null || b.null,     a.array || b.array,   a.object || b.object};
}

ArgumentTypes intersect(const ArgumentTypes& a, const ArgumentTypes& b) {
  return {a.string && b.string, a.number && b.number, a.boolean && b.boolean,
          a.null && b.null,     a.array && b.array,   a.object && b.object};
}

ArgumentTypes type_named(const json::Value& name) {
  if (name == "string") return {.string = true};
  if (name == "number" || name == "integer") return {.number = true};
  if (name == "boolean") return {.boolean = true};
  if (name == "null") return {.null = true};
  if (name == "array") return {.array = true};
  if (name == "object") return {.object = true};
  return ArgumentTypes::all();
}

ArgumentTypes type_of_value(const json::Value& value) {
  return {.string = value.is_string(),
          .number = value.is_number(),
          .boolean = value.is_bool(),
          .null = value.is_null(),
          .array = value.is_array(),
          .object = value.is_object()};
}

template <typename TypeOf>
ArgumentTypes unite_all(const json::Array& items, TypeOf type_of) {
  ArgumentTypes types;
  for (const json::Value& item : items) types = unite(types, type_of(item));
  return types;
}

// The target of "#/a/b" in `root`, nullptr if there is none.
const json::Value* find_reference(const json::Object& schema, const json::Value& root) {
  const json::Value* reference = schema.if_contains("$ref");
  if (reference == nullptr || !reference->is_string()) return nullptr;
  const std::string_view pointer(reference->get_string());
  if (!pointer.starts_with('#')) return nullptr;
  boost::system::error_code error;
  return root.find_pointer(pointer.substr(1), error);
}

// What the keywords that speak of values directly allow; nothing if there are none.
std::optional<ArgumentTypes> own_types(const json::Object& schema) {
  if (const json::Value* type = schema.if_contains("type")) {
    return type->is_array() ? unite_all(type->get_array(), type_named) : type_named(*type);
  }
  if (const json::Value* constant = schema.if_contains("const")) return type_of_value(*constant);
  if (const json::Value* values = schema.if_contains("enum"); values && values->is_array()) {
    return unite_all(values->get_array(), type_of_value);
  }
  if (schema.contains("properties") || schema.contains("additionalProperties")) {
    return ArgumentTypes{.object = true};
  }
  if (schema.contains("items") || schema.contains("prefixItems")) {
    return ArgumentTypes{.array = true};
  }
  return std::nullopt;
}

ArgumentTypes types_of(const json::Value& value, const json::Value& root, int depth) {
  if (!value.is_object() || depth > kMaxSchemaDepth) return ArgumentTypes::all();
  const json::Object& schema = value.get_object();
  ArgumentTypes types = own_types(schema).value_or(ArgumentTypes::all());
  const auto nested = [&](const json::Value& part) { return types_of(part, root, depth + 1); };
  if (const json::Value* target = find_reference(schema, root)) {
    types = intersect(types, nested(*target));
  }
  for (const char* key : {"anyOf", "oneOf"}) {
    const json::Value* parts = schema.if_contains(key);
    if (parts != nullptr && parts->is_array() && !parts->get_array().empty()) {
      types = intersect(types, unite_all(parts->get_array(), nested));
    }
  }
  if (const json::Value* parts = schema.if_contains("allOf"); parts && parts->is_array()) {
    for (const json::Value& part : parts->get_array()) types = intersect(types, nested(part));
  }
  if (const json::Value* nullable = schema.if_contains("nullable")) {
    types.null = types.null || *nullable == true;
  }
  return types == ArgumentTypes{} ? ArgumentTypes::all() : types;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

std::string_view trim(std::string_view text) {
  text.remove_prefix(count_spaces(text));
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Whether `text` is JSON of one of the types; any container will do for either kind of container.
bool is_json_of(std::string_view text, const ArgumentTypes& types) {
  const bool container = text.starts_with('{') || text.starts_with('[');
  if (container ? !(types.object || types.array) : !types.number) return false;
  const auto value = json::parse(text);
  return value && (container || value->is_number());
}

}  // namespace

ArgumentTypes argument_types(const json::Value& schema, const json::Value& root) {
  return types_of(schema, root, 0);
}

const json::Value& follow_references(const json::Value& schema, const json::Value& root) {
  const json::Value* at = &schema;
  for (int depth = 0; depth < kMaxSchemaDepth && at->is_object(); ++depth) {
    const json::Value* target = find_reference(at->get_object(), root);
    if (target == nullptr) break;
    at = target;
  }
  return *at;
}

std::string argument_json(std::string_view text, const ArgumentTypes& types) {
  const std::string_view trimmed = trim(text);
  if (!types.is_plain_string()) {
    if ((trimmed == "null" || trimmed == "None") && (types.null || !types.string)) return "null";
    if (types.boolean && equals_ignoring_case(trimmed, "true")) return "true";
    if (types.boolean && equals_ignoring_case(trimmed, "false")) return "false";
    if (is_json_of(trimmed, types)) return std::string(trimmed);
  }
  std::string quoted;
  json::append_quoted(text, quoted);
  return quoted;
}

}  // namespace deltaserve
