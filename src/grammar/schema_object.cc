// Objects: named properties in their order, then members whose keys match a pattern or none.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "grammar/regex.h"
#include "grammar/schema_compiler.h"

namespace deltaserve {
namespace {

// Every set of patterns that a key may match is a case of its own.
constexpr size_t kMaxPatterns = 4;
constexpr int64_t kMaxCountedProperties = 20'000;  // places times counts

}  // namespace

ExprId SchemaCompiler::key_pattern(std::string_view pattern, const std::string& path) {
  if (const auto known = patterns_.find(pattern); known != patterns_.end()) {
    return known->second;
  }
  const Result<ExprId> compiled = compile_regex(
      pool_, pattern, {[this](const CharSet& set) { return json_.character(set); }, true});
  if (!compiled) {
    return refuse(path, compiled.error().message);
  }
  patterns_.emplace(pattern, *compiled);
  return *compiled;
}

bool SchemaCompiler::pattern_matches(std::string_view pattern, std::string_view name,
                                     const std::string& path) {
  std::string quoted;
  json::append_quoted(name, quoted);
  const ExprId expr = key_pattern(pattern, path);
  return pool_.matches(expr, std::string_view(quoted).substr(1, quoted.size() - 2));
}

// The schemas that the value of this key has to satisfy.
SchemaCompiler::Conjunction SchemaCompiler::property_schemas(const Conjunction& all,
                                                             std::string_view name) {
  Conjunction schemas;
  for (const Part& part : all.parts) {
    bool found = false;
    if (const json::Value* own = find(part, "properties")) {
      if (const json::Value* schema = own->get_object().if_contains(name)) {
        schemas.parts.push_back({schema, fmt::format("{}.properties.{}", part.path, name)});
        found = true;
      }
    }
    if (const json::Value* patterns = find(part, "patternProperties")) {
      for (const auto& [pattern, schema] : patterns->get_object()) {
        if (pattern_matches(pattern, name, part.path)) {
          schemas.parts.push_back({&schema, part.path + ".patternProperties"});
          found = true;
        }
      }
    }
    const json::Value* other = find(part, "additionalProperties");
    if (!found && other != nullptr) {
      schemas.parts.push_back({other, part.path + ".additionalProperties"});
    }
  }
  return schemas;
}

std::vector<SchemaCompiler::Property> SchemaCompiler::property_names(const Conjunction& all) {
  std::vector<std::string> names;
  std::set<std::string, std::less<>> seen;
  std::set<std::string, std::less<>> required;
  const auto add = [&](std::string_view name) {
    if (seen.emplace(name).second) names.emplace_back(name);
  };
  for (const Part& part : all.parts) {
    if (const json::Value* own = find(part, "properties")) {
      for (const auto& [name, schema] : own->get_object()) add(name);
    }
  }
  for (const Part& part : all.parts) {
    if (const json::Value* own = find(part, "required")) {
      for (const json::Value& name : own->get_array()) {
        add(std::string_view(name.get_string()));
        required.emplace(std::string_view(name.get_string()));
      }
    }
  }
  std::vector<Property> result;
  for (std::string& name : names) {
    const bool is_required = required.contains(name);
    result.push_back({std::move(name), is_required, ExprPool::kNothing});
  }
  return result;
}

std::vector<SchemaCompiler::Property> SchemaCompiler::properties(const Conjunction& all,
                                                                 ExprId names) {
  std::vector<Property> result = property_names(all);
  for (Property& property : result) {
    std::string quoted;
    json::append_quoted(property.name, quoted);
    if (!pool_.matches(names, quoted)) continue;
    property.member =
        json_.member(pool_.literal(quoted), compile(property_schemas(all, property.name)));
  }
  return result;
}

// Keys that satisfy propertyNames, with quotation marks.
ExprId SchemaCompiler::key_names(const Conjunction& all) {
  static const json::Value string_schema = json::Object{{"type", "string"}};
  std::vector<ExprId> parts = {
      json_.quoted(pool_.repeat(json_.character(CharSet::all()), 0, ExprPool::kUnbounded))};
  for (const Part& part : all.parts) {
    if (find(part, "propertyNames") == nullptr) continue;
    const Part names = member(part, "propertyNames");
    parts.push_back(compile({{names, {&string_schema, names.path}}, {}}));
  }
  return error_ ? ExprPool::kNothing : pool_.both(parts);
}

// Of these the keys that are not named.
ExprId SchemaCompiler::extra_key(const std::vector<Property>& named, ExprId names) {
  std::vector<ExprId> taken;
  for (const Property& property : named) {
    std::string quoted;
    json::append_quoted(property.name, quoted);
    taken.push_back(pool_.literal(quoted));
  }
  return taken.empty() ? names : pool_.both(names, pool_.negate(pool_.alt(taken)));
}

// One member beyond the named ones. Where nothing is said about other keys, an object that names
// its properties has none, as strict mode wants it.
ExprId SchemaCompiler::extra_members(const Conjunction& all, const std::vector<Property>& named,
                                     ExprId names) {
  std::vector<std::string> patterns;
  bool says_additional = false;
  for (const Part& part : all.parts) {
    says_additional = says_additional || find(part, "additionalProperties") != nullptr;
    if (const json::Value* own = find(part, "patternProperties")) {
      for (const auto& [pattern, schema] : own->get_object()) {
        if (std::ranges::find(patterns, pattern) == patterns.end()) patterns.emplace_back(pattern);
      }
    }
  }
  if (patterns.size() > kMaxPatterns) {
    return refuse(all.parts.front().path,
                  fmt::format("more than {} patterns of properties.", kMaxPatterns));
  }
  const ExprId any_key = extra_key(named, names);
  std::vector<ExprId> choices;
  for (uint32_t matched = 0; matched < 1U << patterns.size(); ++matched) {
    if (matched == 0 && !says_additional && (!named.empty() || !patterns.empty())) continue;
    std::vector<ExprId> keys = {any_key};
    Conjunction schemas;
    for (size_t i = 0; i < patterns.size(); ++i) {
      const ExprId pattern = json_.quoted(key_pattern(patterns[i], all.parts.front().path));
      keys.push_back((matched >> i & 1U) != 0 ? pattern : pool_.negate(pattern));
    }
    const ExprId key = pool_.both(keys);
    if (key == ExprPool::kNothing) continue;
    for (const Part& part : all.parts) {
      bool found = false;
      for (size_t i = 0; i < patterns.size(); ++i) {
        const json::Value* own = find(part, "patternProperties");
        const json::Value* schema =
            own == nullptr ? nullptr : own->get_object().if_contains(patterns[i]);
        if (schema == nullptr || (matched >> i & 1U) == 0) continue;
        schemas.parts.push_back({schema, part.path + ".patternProperties"});
        found = true;
      }
      const json::Value* other = find(part, "additionalProperties");
      if (!found && other != nullptr) {
        schemas.parts.push_back({other, part.path + ".additionalProperties"});
      }
    }
    choices.push_back(json_.member(key, compile(std::move(schemas))));
  }
  return pool_.alt(choices);
}

ExprId SchemaCompiler::compile_object(const Conjunction& all) {
  const ExprId names = key_names(all);
  std::vector<Property> named = properties(all, names);
  const ExprId extra = extra_members(all, named, names);
  const auto impossible = [](const Property& property) {
    return property.member == ExprPool::kNothing;
  };
  for (const Property& property : named) {
    if (impossible(property) && property.required) return ExprPool::kNothing;
  }
  std::erase_if(named, impossible);
  const int32_t min = largest(all, "minProperties", 0);
  const int32_t max = smallest(all, "maxProperties", ExprPool::kUnbounded);
  if (error_ || (max != ExprPool::kUnbounded && max < min)) {
    return ExprPool::kNothing;
  }
  if (extra != ExprPool::kNothing && min > static_cast<int64_t>(named.size()) + 1) {
    const auto limited = std::ranges::find_if(
        all.parts, [](const Part& part) { return find(part, "minProperties") != nullptr; });
    return refuse(limited->path,
                  "'minProperties' is not supported where it asks for more than one property that "
                  "the schema does not name: they could have the same key.");
  }
  const ExprId members = members_in_order(named, extra, min, max);
  return error_ ? ExprPool::kNothing : json_.bracketed('{', members, '}');
}

// Built from the back over (place, members so far); a count that no limit asks about stops at 1,
// where the comma begins. Extra members may repeat a key, so that only the first of them counts
// towards the minimum for certain.
ExprId SchemaCompiler::members_in_order(const std::vector<Property>& named, ExprId extra,
                                        int32_t min, int32_t max) {
  const bool bounded = max != ExprPool::kUnbounded;
  const auto places = static_cast<int32_t>(named.size());
  const int32_t top = std::min(std::max({1, min, bounded ? max : 0}), places + 1);
  if (int64_t{places} * top > kMaxCountedProperties) {
    return refuse("$", "too many properties to count.");
  }
  const auto extras = [&](int32_t count) {
    const int32_t needed = std::max(min - count, 0);
    const int32_t more = bounded ? max - count : ExprPool::kUnbounded;
    if (extra == ExprPool::kNothing || more == 0 || needed > 1) {
      return needed == 0 ? ExprPool::kEmpty : ExprPool::kNothing;
    }
    return count == 0 ? json_.list(extra, needed, more)
                      : pool_.repeat(pool_.concat(json_.comma(), extra), needed, more);
  };
  std::vector<ExprId> after;
  for (int32_t count = 0; count <= top; ++count) {
    after.push_back(bounded && count > max ? ExprPool::kNothing : extras(count));
  }
  for (int32_t place = places - 1; place >= 0; --place) {
    const Property& property = named[static_cast<size_t>(place)];
    std::vector<ExprId> here(after.size(), ExprPool::kNothing);
    for (int32_t count = 0; count <= top; ++count) {
      const auto next = static_cast<size_t>(std::min(count + 1, top));
      ExprId taken =
          bounded && count >= max ? ExprPool::kNothing : pool_.concat(property.member, after[next]);
      if (count > 0) taken = pool_.concat(json_.comma(), taken);
      const auto index = static_cast<size_t>(count);
      here[index] = property.required ? taken : pool_.alt(taken, after[index]);
    }
    after = std::move(here);
  }
  return after.front();
}

}  // namespace deltaserve
