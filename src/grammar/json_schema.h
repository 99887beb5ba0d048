// JSON Schema (draft 2020-12) as a grammar: every text that it lets through is valid. Keywords that
// cannot be kept are refused by name, never ignored. Objects are written in the order of their
// `properties`; keys beyond those only where additionalProperties or patternProperties say so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "grammar/expr.h"
#include "grammar/json_text.h"
#include "json/json.h"

namespace deltaserve {

struct SchemaLimits {
  int32_t max_depth = 100;      // of schemas in schemas, references followed
  int64_t max_schemas = 20000;  // compiled in all, alternatives counted each time
  std::chrono::steady_clock::duration max_time = std::chrono::seconds(2);
};

// One JSON value that satisfies `schema`, without white space around it. Errors: kInvalidArgument
// that names the keyword and its place. GrammarTooComplex may be thrown.
Result<ExprId> compile_json_schema(ExprPool& pool, JsonText& json, const json::Value& schema,
                                   const SchemaLimits& limits = {});

// One argument of a function whose parameters are an object schema, for call syntaxes that write
// arguments one by one.
struct SchemaArgument {
  std::string name;
  bool required = false;
  // Strings as plain text of the `character`s, everything else as JSON.
  ExprId value = ExprPool::kNothing;
};
struct SchemaArguments {
  std::vector<SchemaArgument> named;
  ExprId other = ExprPool::kNothing;  // the value of an argument that the schema does not name
};

// How an argument is written. Strings with limits are made of `character` and lie within `string`.
struct ArgumentText {
  std::function<ExprId(const CharSet&)> character;
  ExprId string = ExprPool::kNothing;    // any text that is read as a string
  ExprId anything = ExprPool::kNothing;  // any text, where every value is valid
};
// For the argument of this name; "" for those that the schema does not name.
using ArgumentTextOf = std::function<ArgumentText(std::string_view name)>;

// `parameters`: an object schema. Errors as above.
Result<SchemaArguments> compile_schema_arguments(ExprPool& pool, JsonText& json,
                                                 const json::Value& parameters,
                                                 const ArgumentTextOf& text_of,
                                                 const SchemaLimits& limits = {});

}  // namespace deltaserve
