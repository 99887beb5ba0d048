// The compiler behind compile_json_schema. A "conjunction" is a list of schemas that must all hold:
// allOf and references are flattened into it, anyOf and oneOf make several of it, and what is left
// is compiled type by type.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/json_schema.h"
#include "grammar/schema_resources.h"

namespace deltaserve {

class SchemaCompiler {
 public:
  SchemaCompiler(ExprPool& pool, JsonText& json, const json::Value& root,
                 const SchemaLimits& limits);

  Result<ExprId> run();
  Result<SchemaArguments> run_arguments(const ArgumentTextOf& text_of);

 private:
  struct Part {
    const json::Value* schema = nullptr;
    std::string path;  // "$", "$.properties.age"
  };
  struct Conjunction {
    std::vector<Part> parts;
    std::vector<const json::Value*> chosen;  // anyOf and oneOf arrays that have been decided
    std::vector<const json::Value*> key() const;
  };
  enum Type : uint32_t {
    kNull = 1,
    kBoolean = 2,
    kString = 4,
    kNumber = 8,
    kInteger = 16,  // without kNumber: only integers
    kArray = 32,
    kObject = 64,
    kAnyType = 127,
  };

  // json_schema.cc: conjunctions.
  ExprId compile(Conjunction all);
  ExprId compile_new(const Conjunction& all);
  bool flatten(const Part& part, Conjunction& out);  // false: nothing satisfies it
  std::optional<ExprId> compile_alternatives(const Conjunction& all);
  ExprId compile_types(const Conjunction& all, bool with_values, uint32_t wanted = kAnyType);
  uint32_t common_types(const Conjunction& all);
  ExprId refuse(const std::string& path, const std::string& what);
  bool over_limits();
  Part member(const Part& part, std::string_view key) const;
  Part element(const Part& part, std::string_view key, size_t index) const;

  // schema_disjoint.cc
  // Whether what is written for `all` with one member of the oneOf of `part` satisfies no other.
  bool members_disjoint(const Conjunction& all, const Part& part);
  bool excluded(const Conjunction& all, const Conjunction& written, int32_t depth = 0);
  bool array_excluded(const Conjunction& all, const Conjunction& written, int32_t depth);
  bool object_excluded(const Conjunction& all, const Conjunction& written, int32_t depth);

  // schema_refs.cc
  std::optional<Part> resolve(const Part& part, std::string_view reference);

  // schema_keywords.cc: unknown and unsupported keywords, types of keywords.
  bool check_keywords(const Part& part);
  static bool says_nothing(const Part& part);  // has annotations at most; its keywords are checked
  uint32_t types_of(const Part& part);
  static const json::Value* find(const Part& part, std::string_view key);
  // The largest (smallest) of a keyword that counts.
  int32_t largest(const Conjunction& all, std::string_view key, int32_t fallback);
  int32_t smallest(const Conjunction& all, std::string_view key, int32_t fallback);

  // schema_values.cc: enum and const.
  std::optional<ExprId> compile_values(const Conjunction& all, uint32_t types);
  // The values that enum and const of all parts have in common; none if there is neither.
  std::optional<json::Array> common_values(const Conjunction& all);
  ExprId value_text(const json::Value& value);

  // schema_scalars.cc
  // What stands between the quotation marks, or an argument's text if that is given: regular.
  ExprId string_content(const Conjunction& all, const ArgumentText* text = nullptr);
  ExprId compile_number(const Conjunction& all, bool integer);
  std::optional<ExprId> multiple_of(const Part& part, bool integer);

  // schema_arguments.cc
  ExprId argument_value(const Conjunction& all, const ArgumentText& text);
  ExprId argument_of_types(const Conjunction& all, const ArgumentText& text);

  // schema_array.cc, schema_object.cc
  ExprId compile_array(const Conjunction& all);
  static Conjunction item_schemas(const Conjunction& all, size_t index);
  ExprId compile_object(const Conjunction& all);
  struct Property {
    std::string name;
    bool required = false;
    ExprId member = ExprPool::kNothing;
  };
  std::vector<Property> property_names(const Conjunction& all);
  std::vector<Property> properties(const Conjunction& all, ExprId names);
  Conjunction property_schemas(const Conjunction& all, std::string_view name);
  ExprId extra_members(const Conjunction& all, const std::vector<Property>& named, ExprId names);
  ExprId extra_key(const std::vector<Property>& named, ExprId names);
  ExprId key_names(const Conjunction& all);
  bool pattern_matches(std::string_view pattern, std::string_view name, const std::string& path);
  ExprId key_pattern(std::string_view pattern, const std::string& path);
  ExprId members_in_order(const std::vector<Property>& named, ExprId extra, int32_t min,
                          int32_t max);

  ExprPool& pool_;
  JsonText& json_;
  const json::Value& root_;
  SchemaResources resources_;
  SchemaLimits limits_;
  std::chrono::steady_clock::time_point deadline_;
  std::map<std::vector<const json::Value*>, ExprId> known_;
  // Being compiled; the rule is there once a conjunction has turned out to contain itself.
  std::map<std::vector<const json::Value*>, std::optional<uint32_t>> pending_;
  std::map<std::string, ExprId, std::less<>> patterns_;  // of keys
  int32_t depth_ = 0;
  int64_t num_schemas_ = 0;
  std::optional<Error> error_;
};

}  // namespace deltaserve
