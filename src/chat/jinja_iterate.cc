// Iteration: one cursor a kind of iterable. A cursor keeps the object that it walks alive.
#include <fmt/format.h>

#include "chat/jinja_access.h"
#include "text/utf8.h"

namespace deltaserve::jinja {
namespace {

class EmptyCursor : public Cursor {
 public:
  bool next(Value& /*item*/) override { return false; }
};

int64_t size_of(const ListObject& list) {
  return static_cast<int64_t>(list.items.size());
}
int64_t size_of(const DictObject& dict) {
  return static_cast<int64_t>(dict.items.size());
}
int64_t size_of(const RangeObject& range) {
  return range.size();
}

Value item_of(const ListObject& list, int64_t index) {
  return list.items[static_cast<size_t>(index)];
}
Value item_of(const DictObject& dict, int64_t index) {
  return dict.items[static_cast<size_t>(index)].first;
}
Value item_of(const RangeObject& range, int64_t index) {
  return Value::integer(range.at(index));
}

// By index: the object may grow meanwhile.
template <typename Object>
class IndexCursor : public Cursor {
 public:
  IndexCursor(Runtime& runtime, const Value& value) : runtime_(runtime), value_(value) {}

  bool next(Value& item) override {
    const auto& object = value_.get<Object>();
    if (position_ == size_of(object)) {
      return false;
    }
    runtime_.step();
    item = item_of(object, position_++);
    return true;
  }
  std::optional<int64_t> size() const override { return size_of(value_.get<Object>()); }

 private:
  Runtime& runtime_;
  Value value_;
  int64_t position_ = 0;
};

class StringCursor : public Cursor {
 public:
  StringCursor(Runtime& runtime, const Value& string) : runtime_(runtime), string_(string) {}

  bool next(Value& item) override {
    const Text& text = string_.text();
    if (offset_ == text.size()) {
      return false;
    }
    const size_t end = offset_ + utf8::decode_valid(text.bytes().data() + offset_).length;
    item = runtime_.string(text.slice(offset_, end));
    offset_ = end;
    return true;
  }
  std::optional<int64_t> size() const override { return length_of(string_); }

 private:
  Runtime& runtime_;
  Value string_;
  size_t offset_ = 0;
};

class IteratorCursor : public Cursor {
 public:
  IteratorCursor(Runtime& runtime, const Value& iterator)
      : runtime_(runtime), iterator_(iterator) {}

  bool next(Value& item) override {
    runtime_.step();
    return iterator_.get<IteratorObject>().next(item);
  }

 private:
  Runtime& runtime_;
  Value iterator_;
};

}  // namespace

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kIterator:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

std::unique_ptr<Cursor> iterate(Runtime& runtime, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return std::make_unique<EmptyCursor>();
    case Kind::kString:
      return std::make_unique<StringCursor>(runtime, value);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDictView:
      return std::make_unique<IndexCursor<ListObject>>(runtime, value);
    case Kind::kDict:
      return std::make_unique<IndexCursor<DictObject>>(runtime, value);
    case Kind::kRange:
      return std::make_unique<IndexCursor<RangeObject>>(runtime, value);
    case Kind::kIterator:
      return std::make_unique<IteratorCursor>(runtime, value);
    case Kind::kLoop:
      fail_type("iterating over the loop variable is not supported");
    default:
      fail_type(fmt::format("'{}' object is not iterable", type_name(value)));
  }
}

std::vector<Value> collect(Runtime& runtime, const Value& value) {
  const std::unique_ptr<Cursor> cursor = iterate(runtime, value);
  std::vector<Value> items;
  if (const auto size = cursor->size()) {
    runtime.step(static_cast<uint64_t>(*size) * 2);
    items.reserve(static_cast<size_t>(*size));
  }
  Value item;
  while (cursor->next(item)) {
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace deltaserve::jinja
