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

class ListCursor : public Cursor {
 public:
  ListCursor(Runtime& runtime, const Value& list) : runtime_(runtime), list_(list) {}

  bool next(Value& item) override {
    const auto& items = list_.get<ListObject>().items;
    if (position_ == items.size()) {
      return false;
    }
    runtime_.step();
    item = items[position_++];
    return true;
  }
  std::optional<int64_t> size() const override { return length_of(list_); }

 private:
  Runtime& runtime_;
  Value list_;
  size_t position_ = 0;
};

class DictCursor : public Cursor {
 public:
  DictCursor(Runtime& runtime, const Value& dict) : runtime_(runtime), dict_(dict) {}

  bool next(Value& item) override {
    const auto& items = dict_.get<DictObject>().items;
    if (position_ == items.size()) {
      return false;
    }
    runtime_.step();
    item = items[position_++].first;
    return true;
  }
  std::optional<int64_t> size() const override { return length_of(dict_); }

 private:
  Runtime& runtime_;
  Value dict_;
  size_t position_ = 0;
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

class RangeCursor : public Cursor {
 public:
  RangeCursor(Runtime& runtime, const Value& range) : runtime_(runtime), range_(range) {}

  bool next(Value& item) override {
    const auto& range = range_.get<RangeObject>();
    if (position_ == range.size()) {
      return false;
    }
    runtime_.step();
    item = Value::integer(range.at(position_++));
    return true;
  }
  std::optional<int64_t> size() const override { return length_of(range_); }

 private:
  Runtime& runtime_;
  Value range_;
  int64_t position_ = 0;
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
      return std::make_unique<ListCursor>(runtime, value);
    case Kind::kDict:
      return std::make_unique<DictCursor>(runtime, value);
    case Kind::kRange:
      return std::make_unique<RangeCursor>(runtime, value);
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
