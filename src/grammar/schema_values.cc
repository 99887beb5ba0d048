// enum and const: the values that every part allows, as they may be written.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "grammar/json_number.h"
#include "grammar/schema_compiler.h"

namespace deltaserve {
namespace {

// Two lists are compared value by value.
constexpr size_t kMaxValues = 5000;

// JSON Schema's equality: 1 and 1.0 are the same number, inside arrays and objects too.
bool equal(const json::Value& a, const json::Value& b) {
  if (a.is_number() && b.is_number() && a.is_double() != b.is_double()) {
    return a.to_number<double>() == b.to_number<double>() && Decimal::of(a) == Decimal::of(b);
  }
  if (a.is_array() && b.is_array()) {
    return std::ranges::equal(a.get_array(), b.get_array(), equal);
  }
  if (a.is_object() && b.is_object()) {
    const json::Object& other = b.get_object();
    return a.get_object().size() == other.size() &&
           std::ranges::all_of(a.get_object(), [&](const json::Object::value_type& entry) {
             const json::Value* value = other.if_contains(entry.key());
             return value != nullptr && equal(entry.value(), *value);
           });
  }
  return a == b;
}

// The ways to write a value that is no object or array: a whole number is written without a point
// too, whichever way the schema has it.
std::vector<std::string> scalar_texts(const json::Value& value) {
  if (!value.is_double()) {
    return {json::serialize(value)};
  }
  const double number = value.get_double();
  std::vector<std::string> texts = {json::python_float(number)};
  if (number == std::floor(number) && std::abs(number) < 0x1p53) {
    texts.push_back(fmt::format("{:.0f}", number));
  }
  return texts;
}

// A number's text without an exponent, which is how texts within limits are written.
std::string plain_text(const json::Value& value, const std::string& text) {
  return value.is_double() && text.find('e') != std::string::npos ? Decimal::of(value).text()
                                                                  : text;
}

// Whether a keyword limits values by anything but their type.
bool is_limit(const json::Object::value_type& entry) {
  const std::string_view key(entry.key());
  return key.starts_with("m") || key.starts_with("exclusive") || key == "pattern" ||
         key == "format" || key.ends_with("tems") || key.ends_with("roperties") ||
         key == "required" || key == "propertyNames";
}

}  // namespace

std::optional<json::Array> SchemaCompiler::common_values(const Conjunction& all) {
  std::optional<json::Array> values;
  for (const Part& part : all.parts) {
    for (const std::string_view key : {"enum", "const"}) {
      const json::Value* own = find(part, key);
      if (own == nullptr) continue;
      if (key == "enum" && !own->is_array()) {
        refuse(part.path, "'enum' must be an array.");
        return std::nullopt;
      }
      if (key == "enum" && own->get_array().size() > kMaxValues) {
        refuse(part.path, fmt::format("'enum' may have at most {} values.", kMaxValues));
        return std::nullopt;
      }
      const json::Array allowed = key == "enum" ? own->get_array() : json::Array{*own};
      if (!values) {
        values = allowed;
        continue;
      }
      json::Array kept;
      for (const json::Value& value : *values) {
        const auto same = [&](const json::Value& other) { return equal(value, other); };
        if (std::ranges::any_of(allowed, same)) kept.push_back(value);
      }
      values = std::move(kept);
    }
  }
  return values;
}

std::optional<ExprId> SchemaCompiler::compile_values(const Conjunction& all, uint32_t types) {
  const std::optional<json::Array> values = common_values(all);
  if (!values) {
    return std::nullopt;
  }
  const Part* limited = nullptr;
  for (const Part& part : all.parts) {
    if (std::ranges::any_of(part.schema->get_object(), is_limit)) limited = &part;
  }
  const bool check = limited != nullptr || types != kAnyType;
  const uint32_t scalars = types & ~uint32_t{kArray | kObject};
  const ExprId rest = check ? compile_types(all, false, scalars) : ExprPool::kNothing;
  std::vector<ExprId> choices;
  for (const json::Value& value : *values) {
    const bool structured = value.is_object() || value.is_array();
    if (structured && limited != nullptr) {
      return refuse(limited->path,
                    "objects and arrays in 'enum' beside other limits are not supported.");
    }
    if (structured) {
      const uint32_t type = value.is_object() ? kObject : kArray;
      if ((types & type) != 0) choices.push_back(value_text(value));
      continue;
    }
    for (const std::string& text : scalar_texts(value)) {
      const bool allowed = !check || pool_.matches(rest, plain_text(value, text));
      if (allowed) choices.push_back(pool_.literal(text));
    }
  }
  return pool_.alt(choices);
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
  std::vector<ExprId> texts;
  for (const std::string& text : scalar_texts(value)) texts.push_back(pool_.literal(text));
  return pool_.alt(texts);
}

}  // namespace deltaserve
