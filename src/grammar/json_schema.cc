// Conjunctions: flattening, alternatives, and the choice of types.
#include "grammar/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grammar/schema_compiler.h"

namespace deltaserve {
namespace {

constexpr size_t kMaxParts = 500;  // flatten() is recursive

}  // namespace

Result<ExprId> compile_json_schema(ExprPool& pool, JsonText& json, const json::Value& schema,
                                   const SchemaLimits& limits) {
  return SchemaCompiler(pool, json, schema, limits).run();
}

SchemaCompiler::SchemaCompiler(ExprPool& pool, JsonText& json, const json::Value& root,
                               const SchemaLimits& limits)
    : pool_(pool),
      json_(json),
      root_(root),
      resources_(root),
      limits_(limits),
      deadline_(std::chrono::steady_clock::now() + limits.max_time) {}

Result<ExprId> SchemaCompiler::run() {
  const ExprId result = compile({{{&root_, "$"}}, {}});
  if (error_) {
    return std::unexpected(*error_);
  }
  if (result == ExprPool::kNothing) {
    return invalid("The schema cannot be satisfied by any value.");
  }
  return result;
}

std::vector<const json::Value*> SchemaCompiler::Conjunction::key() const {
  std::vector<const json::Value*> key = chosen;
  for (const Part& part : parts) key.push_back(part.schema);
  std::ranges::sort(key);
  return key;
}

ExprId SchemaCompiler::refuse(const std::string& path, const std::string& what) {
  if (!error_) {
    error_ =
        Error{ErrorCode::kInvalidArgument, fmt::format("Schema at {}: {}", path, what), "", ""};
  }
  return ExprPool::kNothing;
}

bool SchemaCompiler::over_limits() {
  if (error_) {
    return true;
  }
  if (++num_schemas_ > limits_.max_schemas || depth_ > limits_.max_depth) {
    refuse("$", depth_ > limits_.max_depth ? "it is nested too deeply." : "it is too large.");
  } else if (std::chrono::steady_clock::now() > deadline_) {
    refuse("$", "it takes too long to compile.");
  }
  return error_.has_value();
}

SchemaCompiler::Part SchemaCompiler::member(const Part& part, std::string_view key) const {
  return {find(part, key), fmt::format("{}.{}", part.path, key)};
}

SchemaCompiler::Part SchemaCompiler::element(const Part& part, std::string_view key,
                                             size_t index) const {
  return {&find(part, key)->get_array()[index], fmt::format("{}.{}[{}]", part.path, key, index)};
}

// Adds `part` and what it refers to; each schema once.
bool SchemaCompiler::flatten(const Part& part, Conjunction& out) {
  if (part.schema->is_bool()) {
    return part.schema->get_bool();
  }
  const auto is_same = [&](const Part& other) { return other.schema == part.schema; };
  if (std::ranges::any_of(out.parts, is_same)) {
    return true;
  }
  if (out.parts.size() > kMaxParts) {
    refuse(part.path, "too many references and 'allOf' members hold at once.");
  }
  if (!check_keywords(part) || error_) {
    return false;
  }
  out.parts.push_back(part);
  if (const json::Value* reference = find(part, "$ref")) {
    const std::optional<Part> target = resolve(part, std::string_view(reference->get_string()));
    if (!target || !flatten(*target, out)) return false;
  }
  if (const json::Value* members = find(part, "allOf")) {
    for (size_t i = 0; i < members->get_array().size(); ++i) {
      if (!flatten(element(part, "allOf", i), out)) return false;
    }
  }
  return true;
}

ExprId SchemaCompiler::compile(Conjunction all) {
  Conjunction flat;
  flat.chosen = std::move(all.chosen);
  for (const Part& part : all.parts) {
    if (!flatten(part, flat)) return ExprPool::kNothing;
  }
  if (over_limits()) {
    return ExprPool::kNothing;
  }
  if (flat.parts.empty()) {
    return json_.value();
  }
  const auto key = flat.key();
  if (const auto known = known_.find(key); known != known_.end()) {
    return known->second;
  }
  if (const auto pending = pending_.find(key); pending != pending_.end()) {
    std::optional<uint32_t>& rule = pending->second;
    if (!rule) rule = pool_.new_rule();
    return pool_.call(*rule);
  }
  pending_[key] = std::nullopt;
  ++depth_;
  ExprId result = compile_new(flat);
  --depth_;
  if (const std::optional<uint32_t> rule = pending_[key]) {
    pool_.define(*rule, result);
    result = pool_.call(*rule);
  }
  pending_.erase(key);
  known_[key] = result;
  return result;
}

ExprId SchemaCompiler::compile_new(const Conjunction& all) {
  const std::optional<ExprId> alternatives = compile_alternatives(all);
  return alternatives ? *alternatives : compile_types(all, true);
}

// The first anyOf or oneOf that is still open: the conjunction once with each of its members.
std::optional<ExprId> SchemaCompiler::compile_alternatives(const Conjunction& all) {
  for (const Part& part : all.parts) {
    for (const std::string_view key : {"anyOf", "oneOf"}) {
      const json::Value* members = find(part, key);
      if (members == nullptr || std::ranges::find(all.chosen, members) != all.chosen.end()) {
        continue;
      }
      if (key == "oneOf" && !members_disjoint(all, part)) return ExprPool::kNothing;
      const size_t size = members->get_array().size();
      std::vector<ExprId> choices;
      for (size_t i = 0; i < size; ++i) {
        Conjunction one = all;
        one.chosen.push_back(members);
        one.parts.push_back(element(part, key, i));
        choices.push_back(compile(std::move(one)));
      }
      return pool_.alt(choices);
    }
  }
  return std::nullopt;
}

uint32_t SchemaCompiler::common_types(const Conjunction& all) {
  uint32_t types = kAnyType;
  for (const Part& part : all.parts) {
    const uint32_t own = types_of(part);
    types &= (own & kNumber) != 0 ? own | kInteger : own;
  }
  return types;
}

ExprId SchemaCompiler::compile_types(const Conjunction& all, bool with_values, uint32_t wanted) {
  const uint32_t types = common_types(all) & wanted;
  if (with_values) {
    if (const std::optional<ExprId> values = compile_values(all, types)) return *values;
  }
  std::vector<ExprId> choices;
  if ((types & kNull) != 0) choices.push_back(pool_.literal("null"));
  if ((types & kBoolean) != 0) {
    choices.push_back(pool_.alt(pool_.literal("true"), pool_.literal("false")));
  }
  if ((types & kString) != 0) choices.push_back(json_.quoted(string_content(all)));
  if ((types & (kNumber | kInteger)) != 0) {
    choices.push_back(compile_number(all, (types & kNumber) == 0));
  }
  if ((types & kArray) != 0) choices.push_back(compile_array(all));
  if ((types & kObject) != 0) choices.push_back(compile_object(all));
  return error_ ? ExprPool::kNothing : pool_.alt(choices);
}

}  // namespace deltaserve
