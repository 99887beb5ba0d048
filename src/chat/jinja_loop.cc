// The loop variable. Items are drawn as late as jinja2 draws them, because a loop's filter may look
// at a namespace that its body changes.
#include "chat/jinja_loop.h"

#include "chat/jinja_methods.h"
#include "chat/jinja_operators.h"

namespace deltaserve::jinja {
namespace {

Value cycle(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const auto& items = arguments.positional;
  if (items.empty()) {
    fail_type("no items for cycling given");
  }
  return items[static_cast<size_t>(self.get<LoopObject>().index0) % items.size()];
}

Value changed(Runtime& runtime, const Value& self, const Arguments& arguments) {
  auto& loop = self.get<LoopObject>();
  const auto& items = arguments.positional;
  bool same = loop.changed_called && loop.last_changed.size() == items.size();
  for (size_t i = 0; same && i < items.size(); ++i) {
    same = equals(runtime, loop.last_changed[i], items[i]);
  }
  loop.changed_called = true;
  loop.last_changed.clear();
  for (const Value& item : items) {
    if (item.depth() > 0) {
      // Kept containers would let loops nest without bound.
      fail_type("loop.changed() takes scalars only");
    }
    loop.last_changed.push_back(item);
  }
  return Value::boolean(!same);
}

Value bind_loop_method(const Value& self, std::string_view name, MethodFunction function) {
  auto object = std::make_shared<MethodObject>();
  object->name = name;
  object->self = self;
  object->call = function;
  return Value(Kind::kMethod, std::move(object));
}

// What remains of a drained source.
class DrainedCursor : public Cursor {
 public:
  explicit DrainedCursor(std::vector<Value> items) : items_(std::move(items)) {}
  bool next(Value& item) override {
    if (position_ == items_.size()) {
      return false;
    }
    item = items_[position_++];
    return true;
  }

 private:
  std::vector<Value> items_;
  size_t position_ = 0;
};

}  // namespace

LoopObject::LoopObject(std::unique_ptr<Cursor> source, uint32_t source_depth)
    : source_(std::move(source)), length_(source_->size()), depth_(nested_depth(source_depth)) {}

bool LoopObject::advance(Value& item) {
  if (ahead_) {
    item = *std::move(ahead_);
    ahead_.reset();
  } else if (!source_->next(item)) {
    return false;
  }
  ++index0;
  before_ = std::move(current_);
  current_ = item;
  return true;
}

const std::optional<Value>& LoopObject::peek() {
  if (!ahead_) {
    Value item;
    if (source_->next(item)) {
      ahead_ = std::move(item);
    }
  }
  return ahead_;
}

int64_t LoopObject::length() {
  if (!length_) {
    std::vector<Value> rest;
    Value item;
    while (source_->next(item)) {
      rest.push_back(std::move(item));
    }
    length_ = static_cast<int64_t>(rest.size()) + index0 + 1 + (ahead_ ? 1 : 0);
    source_ = std::make_unique<DrainedCursor>(std::move(rest));
  }
  return *length_;
}

bool LoopObject::last() {
  return !peek().has_value();
}

Value LoopObject::previous(Runtime& runtime) const {
  return index0 == 0 || !before_ ? runtime.undefined("there is no previous item") : *before_;
}

Value LoopObject::next(Runtime& runtime) {
  const auto& item = peek();
  return item ? *item : runtime.undefined("there is no next item");
}

std::optional<Value> LoopObject::attribute(Runtime& runtime, const Value& self,
                                           std::string_view name) {
  if (name == "index0") return Value::integer(index0);
  if (name == "index") return Value::integer(index0 + 1);
  if (name == "first") return Value::boolean(index0 == 0);
  if (name == "last") return Value::boolean(last());
  if (name == "length") return Value::integer(length());
  if (name == "revindex") return Value::integer(length() - index0);
  if (name == "revindex0") return Value::integer(length() - index0 - 1);
  if (name == "previtem") return previous(runtime);
  if (name == "nextitem") return next(runtime);
  // Loops cannot be recursive here.
  if (name == "depth") return Value::integer(1);
  if (name == "depth0") return Value::integer(0);
  if (name == "cycle") return bind_loop_method(self, "cycle", cycle);
  if (name == "changed") return bind_loop_method(self, "changed", changed);
  return std::nullopt;
}

}  // namespace deltaserve::jinja
