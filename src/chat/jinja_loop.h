// The `loop` variable of a for block: walks an iterable one item ahead where the template asks for
// it, and knows the length of what has one.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "chat/jinja_access.h"
#include "chat/jinja_objects.h"

namespace deltaserve::jinja {

struct LoopObject : Object {
  LoopObject(std::unique_ptr<Cursor> source, uint32_t source_depth);

  // The next item; false at the end.
  bool advance(Value& item);

  int64_t length();
  bool last();
  Value previous(Runtime& runtime) const;
  Value next(Runtime& runtime);

  // The attribute, or nullopt if loops have none of that name.
  std::optional<Value> attribute(Runtime& runtime, const Value& self, std::string_view name);

  uint32_t depth() const { return depth_; }
  int64_t index0 = -1;
  std::vector<Value> last_changed;
  bool changed_called = false;

 private:
  const std::optional<Value>& peek();

  std::unique_ptr<Cursor> source_;
  std::optional<int64_t> length_;
  std::optional<Value> ahead_;
  std::optional<Value> before_;
  std::optional<Value> current_;
  uint32_t depth_;
};

}  // namespace deltaserve::jinja
