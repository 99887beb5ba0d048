// oneOf: it is written as anyOf, which is the same where no value satisfies two members. That is
// shown from the schemas, not from the texts: a value has texts that are never written, with its
// properties in another order, say, and these count too.
#include <algorithm>

#include "grammar/schema_compiler.h"

namespace deltaserve {
namespace {

constexpr int32_t kMaxNesting = 8;   // of values in values that are looked into
constexpr int32_t kMaxPlaces = 100;  // of an array

}  // namespace

// Every pair is looked at and counts as a schema.
bool SchemaCompiler::members_disjoint(const Conjunction& all, const Part& part) {
  const json::Value* members = find(part, "oneOf");
  const size_t size = members->get_array().size();
  Conjunction decided = all;
  decided.chosen.push_back(members);
  const auto with = [&](Conjunction base, size_t index) {
    base.parts.push_back(element(part, "oneOf", index));
    return base;
  };
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = i + 1; j < size && !over_limits(); ++j) {
      const Conjunction first = with(decided, i);
      const Conjunction second = with(decided, j);
      const Conjunction both = with(first, j);
      if (!excluded(both, first) || !excluded(both, second)) {
        refuse(part.path,
               "'oneOf' is only supported where its members exclude each other; use "
               "'anyOf'.");
      }
    }
  }
  return !error_;
}

// Whether no text that is written for `written` is a value of `all`, which contains it.
bool SchemaCompiler::excluded(const Conjunction& all, const Conjunction& written, int32_t depth) {
  Conjunction flat;
  flat.chosen = all.chosen;
  Conjunction own;
  own.chosen = written.chosen;
  const auto holds = [&](const Conjunction& from, Conjunction& to) {
    return std::ranges::all_of(from.parts, [&](const Part& part) { return flatten(part, to); });
  };
  if (!holds(all, flat) || !holds(written, own) || over_limits()) {
    return true;
  }
  if (depth > kMaxNesting) {
    return false;
  }
  for (const Part& part : flat.parts) {
    for (const std::string_view key : {"anyOf", "oneOf"}) {
      const json::Value* members = find(part, key);
      if (members == nullptr || std::ranges::find(flat.chosen, members) != flat.chosen.end()) {
        continue;
      }
      for (size_t i = 0; i < members->get_array().size(); ++i) {
        Conjunction one = flat;
        one.chosen.push_back(members);
        one.parts.push_back(element(part, key, i));
        if (!excluded(one, own, depth)) return false;
      }
      return true;
    }
  }
  const uint32_t types = common_types(flat);
  if (const auto values = common_values(flat)) {
    const bool structured = std::ranges::any_of(
        *values, [](const json::Value& value) { return value.is_structured(); });
    return error_ || (!structured && compile_values(flat, types) == ExprPool::kNothing);
  }
  const bool shown = (types & (kNull | kBoolean)) == 0 &&
                     ((types & kString) == 0 || string_content(flat) == ExprPool::kNothing) &&
                     ((types & (kNumber | kInteger)) == 0 ||
                      compile_number(flat, (types & kNumber) == 0) == ExprPool::kNothing) &&
                     ((types & kArray) == 0 || array_excluded(flat, own, depth)) &&
                     ((types & kObject) == 0 || object_excluded(flat, own, depth));
  return shown || error_;
}

// By the number of items, or by one that is always there.
bool SchemaCompiler::array_excluded(const Conjunction& all, const Conjunction& written,
                                    int32_t depth) {
  const int32_t min = largest(all, "minItems", 0);
  const int32_t max = smallest(all, "maxItems", ExprPool::kUnbounded);
  if (max != ExprPool::kUnbounded && max < min) {
    return true;
  }
  for (int32_t i = 0; i < std::min(min, kMaxPlaces); ++i) {
    const auto index = static_cast<size_t>(i);
    if (excluded(item_schemas(all, index), item_schemas(written, index), depth + 1)) return true;
  }
  return false;
}

// By a required property: no value fits it, or it is not written at all. The latter is certain
// where objects name their properties, say nothing of others, and no alternative may name more.
bool SchemaCompiler::object_excluded(const Conjunction& all, const Conjunction& written,
                                     int32_t depth) {
  const std::vector<Property> own = property_names(written);
  const bool open = std::ranges::any_of(written.parts, [&](const Part& part) {
    return std::ranges::any_of(
        part.schema->get_object(), [&](const json::Object::value_type& entry) {
          const std::string_view key(entry.key());
          const bool alternatives = key == "anyOf" || key == "oneOf";
          return key == "additionalProperties" || key == "patternProperties" ||
                 (alternatives &&
                  std::ranges::find(written.chosen, &entry.value()) == written.chosen.end());
        });
  });
  const bool closed = !open && !own.empty();
  int32_t num_required = 0;
  for (const Property& property : property_names(all)) {
    if (!property.required) continue;
    ++num_required;
    if (closed && std::ranges::find(own, property.name, &Property::name) == own.end()) return true;
    if (excluded(property_schemas(all, property.name), property_schemas(written, property.name),
                 depth + 1)) {
      return true;
    }
  }
  const int32_t max = smallest(all, "maxProperties", ExprPool::kUnbounded);
  return max != ExprPool::kUnbounded &&
         max < std::max(num_required, largest(all, "minProperties", 0));
}

}  // namespace deltaserve
