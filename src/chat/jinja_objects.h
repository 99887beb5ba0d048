// What stands behind each kind of value. Made through Runtime, which charges for their size.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja_error.h"
#include "chat/jinja_value.h"

namespace deltaserve::jinja {

namespace ast {
struct Macro;
}
class Runtime;
struct Scope;
struct Arguments;

struct UndefinedObject : Object {
  std::string message;  // of the error that an operation on it raises
  FailureKind failure = FailureKind::kUndefined;
};

struct StringObject : Object {
  Text text;
  size_t length = 0;  // code points

  bool ascii() const { return length == text.size(); }
};

// ListObject::view_name of the tuples that groupby makes: they have .grouper and .list.
inline constexpr std::string_view kGroupTuple = "group";

// Lists, tuples and, with a name such as "dict_keys", dict views.
struct ListObject : Object {
  std::vector<Value> items;
  std::string_view view_name;
  uint32_t depth = 1;
  bool from_template = true;
};

struct DictObject : Object {
  using Item = std::pair<Value, Value>;

  // The value of a string key, or nullptr.
  const Value* find(std::string_view key) const;
  // Sorts the string keys once a dict is too large for linear search.
  void index();

  std::vector<Item> items;       // in the order of insertion, keys distinct
  std::vector<uint32_t> by_key;  // of large dicts: items with string keys, sorted by key
  uint32_t depth = 1;
  bool from_template = true;
};

struct RangeObject : Object {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;

  int64_t size() const;
  Int at(int64_t index) const { return Int{start} + Int{index} * step; }
};

struct IteratorObject : Object {
  std::function<bool(Value&)> next;  // false: exhausted
  uint32_t depth = 1;
};

struct NamespaceObject : Object {
  std::vector<std::pair<std::string, Value>> attributes;

  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

struct MacroObject : Object {
  const ast::Macro* definition = nullptr;
  std::shared_ptr<Scope> closure;
};

struct FunctionObject : Object {
  std::string_view name;
  Value (*call)(Runtime&, const Arguments&) = nullptr;
};

struct MethodObject : Object {
  std::string_view name;
  Value self;
  Value (*call)(Runtime&, const Value& self, const Arguments&) = nullptr;
};

struct JoinerObject : Object {
  Value separator;
  bool used = false;
};

struct CyclerObject : Object {
  std::vector<Value> items;
  size_t position = 0;
  uint32_t depth = 1;
};

// Positional and keyword arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

}  // namespace deltaserve::jinja
