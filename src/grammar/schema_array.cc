// Arrays: first the places that have a schema of their own, then items that share one.
#include <algorithm>

#include "grammar/schema_compiler.h"

namespace deltaserve {
namespace {

// prefixItems, or the array form of `items` that older drafts have.
const json::Array* prefix_of(const json::Object& schema) {
  for (const std::string_view key : {"prefixItems", "items"}) {
    const json::Value* value = schema.if_contains(key);
    if (value != nullptr && value->is_array()) return &value->get_array();
  }
  return nullptr;
}

const json::Value* rest_of(const json::Object& schema) {
  const json::Value* items = schema.if_contains("items");
  return items != nullptr && items->is_array() ? schema.if_contains("additionalItems") : items;
}

}  // namespace

// The schemas that the item at this place has to satisfy.
SchemaCompiler::Conjunction SchemaCompiler::item_schemas(const Conjunction& all, size_t index) {
  Conjunction schemas;
  for (const Part& part : all.parts) {
    const json::Array* prefix = prefix_of(part.schema->get_object());
    const json::Value* rest = rest_of(part.schema->get_object());
    if (prefix != nullptr && index < prefix->size()) {
      schemas.parts.push_back({&(*prefix)[index], part.path + ".prefixItems"});
    } else if (rest != nullptr) {
      schemas.parts.push_back({rest, part.path + ".items"});
    }
  }
  return schemas;
}

ExprId SchemaCompiler::compile_array(const Conjunction& all) {
  size_t num_places = 0;
  for (const Part& part : all.parts) {
    const json::Array* prefix = prefix_of(part.schema->get_object());
    num_places = std::max(num_places, prefix == nullptr ? 0 : prefix->size());
  }
  const auto place = [&](size_t index) { return compile(item_schemas(all, index)); };
  const int32_t min = largest(all, "minItems", 0);
  const int32_t max = smallest(all, "maxItems", ExprPool::kUnbounded);
  if (max != ExprPool::kUnbounded && max < min) {
    return ExprPool::kNothing;
  }
  const auto places = static_cast<int32_t>(num_places);
  const auto allowed = [max](int32_t count) { return max == ExprPool::kUnbounded || count < max; };

  // Built from the back: what may follow after `count` items.
  ExprId after = ExprPool::kEmpty;
  if (allowed(places)) {
    const ExprId item = place(num_places);
    const int32_t more = max == ExprPool::kUnbounded ? max : max - places;
    const int32_t needed = std::max(min - places, 0);
    after = places == 0 ? json_.list(item, needed, more)
                        : pool_.repeat(pool_.concat(json_.comma(), item), needed, more);
  } else if (min > places) {
    after = ExprPool::kNothing;
  }
  for (int32_t count = places - 1; count >= 0; --count) {
    ExprId next = ExprPool::kNothing;
    if (allowed(count)) {
      next = pool_.concat(place(static_cast<size_t>(count)), after);
      if (count > 0) next = pool_.concat(json_.comma(), next);
    }
    after = count >= min ? pool_.optional(next) : next;
  }
  return json_.bracketed('[', after, ']');
}

}  // namespace deltaserve
