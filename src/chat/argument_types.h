// The JSON types that a tool's schema allows for one argument, and the conversion of the text that
// a model wrote for it. Only types matter here: values that a schema forbids are left to the tool.
#pragma once

#include <string>
#include <string_view>

#include "json/json.h"

namespace deltaserve {

struct ArgumentTypes {
  bool string = false;
  bool number = false;  // and integer
  bool boolean = false;
  bool null = false;
  bool array = false;
  bool object = false;

  bool operator==(const ArgumentTypes&) const = default;

  static ArgumentTypes all() { return {true, true, true, true, true, true}; }
  static ArgumentTypes only_string() { return {.string = true}; }

  bool is_plain_string() const { return *this == only_string(); }
  bool is_nullable_string() const { return *this == ArgumentTypes{.string = true, .null = true}; }
};

// Types of `schema`, a part of `root` that $ref (a JSON pointer "#/...") is resolved in.
// Understands type (name or list), nullable, enum, const, anyOf, oneOf, allOf, properties and
// items; a schema that says nothing allows all.
ArgumentTypes argument_types(const json::Value& schema, const json::Value& root);

// The schema that `schema` stands for once references at its top are followed; `schema` itself
// without any, or where one points nowhere.
const json::Value& follow_references(const json::Value& schema, const json::Value& root);

// `text` as JSON of one of the `types`: True and FALSE are booleans, None and null are null where
// null is allowed or no string is, numbers and containers keep their own spelling. Text that is
// none of the allowed types is a JSON string of exactly that text.
std::string argument_json(std::string_view text, const ArgumentTypes& types);

}  // namespace deltaserve
