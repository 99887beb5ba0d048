// The filters, tests and global functions of Hugging Face's environment, and how a builtin reads
// its arguments.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "chat/jinja_objects.h"
#include "chat/jinja_runtime.h"

namespace deltaserve::jinja {

struct FilterEntry {
  std::string_view name;
  Value (*call)(Runtime&, const Value& input, const Arguments&);
};

struct TestEntry {
  std::string_view name;
  bool (*call)(Runtime&, const Value& input, const Arguments&);
};

// nullptr: there is none of that name.
const FilterEntry* find_filter(std::string_view name);
const TestEntry* find_test(std::string_view name);

// By file; find_filter looks through all of them.
const FilterEntry* find_text_filter(std::string_view name);
const FilterEntry* find_sequence_filter(std::string_view name);
const FilterEntry* find_selection_filter(std::string_view name);
const FilterEntry* find_value_filter(std::string_view name);

struct GlobalEntry {
  std::string_view name;
  Value (*call)(Runtime&, const Arguments&);
};
const std::vector<GlobalEntry>& global_functions();

// Arguments matched to parameter names; absent ones are nullptr. A parameter named "" takes
// positional arguments only. Raises TypeError for surplus, unknown, repeated or missing arguments.
class Bound {
 public:
  Bound(std::string_view function, const Arguments& arguments,
        std::initializer_list<std::string_view> parameters, size_t required = 0);

  const Value* operator[](size_t index) const { return values_[index]; }

  int64_t integer(size_t index, int64_t absent) const;
  bool flag(size_t index, bool absent) const;

 private:
  static constexpr size_t kMaxParameters = 6;  // tojson has the most
  std::array<const Value*, kMaxParameters> values_{};
  std::string_view function_;
};

// An int argument; TypeError for other types, an error beyond 64 bits.
int64_t to_int64(const Value& value);
// A str argument; TypeError naming `function` for other types.
const Text& to_text(const Value& value, std::string_view function);

// What `attribute=` of a filter names: "a.b.0", an integer, or none (the item itself).
class AttributePath {
 public:
  AttributePath(Runtime& runtime, const Value* attribute);
  Value get(Runtime& runtime, const Value& item, const Value* absent = nullptr) const;

 private:
  std::vector<Value> parts_;
};

// lower() for strings, other values as they are: the default sort key.
Value ignore_case(Runtime& runtime, const Value& value);

// sorted(items, key=keys[i]), stable.
std::vector<Value> sort_by_keys(Runtime& runtime, std::vector<Value> items,
                                const std::vector<Value>& keys, bool reverse);

}  // namespace deltaserve::jinja
