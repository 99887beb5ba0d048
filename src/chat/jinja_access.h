// Attribute, item and slice access with jinja2's rules (attributes before keys for `a.b`, keys
// before attributes for `a["b"]`), and iteration over whatever can be iterated.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "chat/jinja_objects.h"
#include "chat/jinja_runtime.h"

namespace deltaserve::jinja {

// `object.name`; undefined if there is none.
Value get_attribute(Runtime& runtime, const Value& object, std::string_view name);

// `object[key]`; undefined if there is none.
Value get_item(Runtime& runtime, const Value& object, const Value& key);

// `object[start:stop:step]`; a part left out is nullopt. Unlike other subscripts it fails where
// there is nothing to slice.
struct SliceParts {
  std::optional<Value> start;
  std::optional<Value> stop;
  std::optional<Value> step;
};
Value get_slice(Runtime& runtime, const Value& object, const SliceParts& parts);

// len(value); TypeError if it has none.
int64_t length_of(const Value& value);

class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  virtual ~Cursor() = default;
  virtual bool next(Value& item) = 0;
  virtual std::optional<int64_t> size() const { return std::nullopt; }
};

bool is_iterable(const Value& value);
// TypeError if it is not iterable.
std::unique_ptr<Cursor> iterate(Runtime& runtime, const Value& value);
// list(value).
std::vector<Value> collect(Runtime& runtime, const Value& value);

// Character `index` of a string.
Value character_at(Runtime& runtime, const StringObject& string, size_t index);

}  // namespace deltaserve::jinja
