// Equality, order, membership and truth as Python defines them.
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>

#include "chat/jinja_access.h"
#include "chat/jinja_loop.h"
#include "chat/jinja_operators.h"

namespace deltaserve::jinja {
namespace {

bool is_sequence_like(const Value& value) {
  return value.is(Kind::kList) || value.is(Kind::kTuple) || value.is(Kind::kDictView);
}

bool equal_dicts(Runtime& runtime, const DictObject& left, const DictObject& right) {
  if (left.items.size() != right.items.size()) {
    return false;
  }
  for (const auto& [key, value] : left.items) {
    const Value* other = find_key(runtime, right, key);
    if (other == nullptr || !equals(runtime, value, *other)) {
      return false;
    }
  }
  return true;
}

bool equal_lists(Runtime& runtime, const ListObject& left, const ListObject& right) {
  if (left.items.size() != right.items.size()) {
    return false;
  }
  for (size_t i = 0; i < left.items.size(); ++i) {
    if (!equals(runtime, left.items[i], right.items[i])) {
      return false;
    }
  }
  return true;
}

bool equal_ranges(const RangeObject& left, const RangeObject& right) {
  const int64_t size = left.size();
  return size == right.size() &&
         (size == 0 || (left.start == right.start && (size == 1 || left.step == right.step)));
}

[[noreturn]] void fail_order(std::string_view symbol, const Value& left, const Value& right) {
  if (left.is_undefined()) {
    fail_undefined(left);
  }
  if (right.is_undefined()) {
    fail_undefined(right);
  }
  fail_type(fmt::format("'{}' not supported between instances of '{}' and '{}'", symbol,
                        type_name(left), type_name(right)));
}

// Whether `left symbol right` holds, for symbol one of < <= > >=.
bool ordered(Runtime& runtime, CompareOp op, std::string_view symbol, const Value& left,
             const Value& right) {
  const auto holds = [op](int order) {
    switch (op) {
      case CompareOp::kLess:
        return order < 0;
      case CompareOp::kLessEqual:
        return order <= 0;
      case CompareOp::kGreater:
        return order > 0;
      default:
        return order >= 0;
    }
  };
  runtime.step();
  if (left.is_number() && right.is_number()) {
    const int order = order_numbers(left, right);
    return order != kUnordered && holds(order);
  }
  if (left.is_string() && right.is_string()) {
    runtime.step(std::min(left.bytes().size(), right.bytes().size()) / kBytesPerStep);
    return holds(left.bytes().compare(right.bytes()));
  }
  if (left.kind() != right.kind() || (!left.is(Kind::kList) && !left.is(Kind::kTuple))) {
    fail_order(symbol, left, right);
  }
  const auto& a = left.get<ListObject>().items;
  const auto& b = right.get<ListObject>().items;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!equals(runtime, a[i], b[i])) {
      return ordered(runtime, op, symbol, a[i], b[i]);
    }
  }
  return holds(a.size() < b.size() ? -1 : (a.size() > b.size() ? 1 : 0));
}

}  // namespace

void fail_undefined(const Value& value) {
  const auto& undefined = value.get<UndefinedObject>();
  throw TemplateFailure(undefined.failure, undefined.message);
}

size_t find_text(std::string_view text, std::string_view needle, size_t begin) {
  if (begin > text.size()) {
    return std::string_view::npos;
  }
  // glibc's memmem is linear even where string_view::find is quadratic.
  const void* found =
      memmem(text.data() + begin, text.size() - begin, needle.data(), needle.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

int order_numbers(const Value& left, const Value& right) {
  if (left.is_integral() && right.is_integral()) {
    return left.as_int() < right.as_int() ? -1 : (left.as_int() > right.as_int() ? 1 : 0);
  }
  if (left.is(Kind::kFloat) && right.is(Kind::kFloat)) {
    const double a = left.as_float();
    const double b = right.as_float();
    return a < b ? -1 : (a > b ? 1 : (a == b ? 0 : kUnordered));
  }
  if (left.is(Kind::kFloat)) {
    const int order = order_numbers(right, left);
    return order == kUnordered ? kUnordered : -order;
  }
  const double b = right.as_float();
  if (std::isnan(b)) {
    return kUnordered;
  }
  // 2^127 bounds Int; inside, the float's whole part is exact.
  constexpr double kBound = 170141183460469231731687303715884105728.0;
  if (b >= kBound || b < -kBound) {
    return b > 0 ? -1 : 1;
  }
  const double whole = std::floor(b);
  const Int floor = static_cast<Int>(whole);
  if (left.as_int() != floor) {
    return left.as_int() < floor ? -1 : 1;
  }
  return b > whole ? -1 : 0;
}

bool equals(Runtime& runtime, const Value& left, const Value& right) {
  runtime.step();
  if (left.is_number() && right.is_number()) {
    return order_numbers(left, right) == 0;
  }
  if (left.kind() != right.kind()) {
    return false;
  }
  switch (left.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString: {
      const std::string_view a = left.bytes();
      const std::string_view b = right.bytes();
      if (a.size() != b.size()) {
        return false;
      }
      runtime.step(a.size() / kBytesPerStep);
      return a == b;
    }
    case Kind::kList:
    case Kind::kTuple:
      return equal_lists(runtime, left.get<ListObject>(), right.get<ListObject>());
    case Kind::kDict:
      return equal_dicts(runtime, left.get<DictObject>(), right.get<DictObject>());
    case Kind::kRange:
      return equal_ranges(left.get<RangeObject>(), right.get<RangeObject>());
    default:
      return left.object() == right.object();
  }
}

bool less(Runtime& runtime, const Value& left, const Value& right) {
  return ordered(runtime, CompareOp::kLess, "<", left, right);
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) {
      fail_type(
          fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
    }
    runtime.step(container.bytes().size() / kBytesPerStep);
    return find_text(container.bytes(), item.bytes()) != std::string_view::npos;
  }
  if (container.is(Kind::kDict)) {
    check_hashable(item);
    return find_key(runtime, container.get<DictObject>(), item) != nullptr;
  }
  if (is_sequence_like(container)) {
    const auto& items = container.get<ListObject>().items;
    return std::any_of(items.begin(), items.end(),
                       [&](const Value& other) { return equals(runtime, other, item); });
  }
  if (!is_iterable(container)) {
    fail_type(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  }
  const std::unique_ptr<Cursor> cursor = iterate(runtime, container);
  Value other;
  while (cursor->next(other)) {
    if (equals(runtime, other, item)) {
      return true;
    }
  }
  return false;
}

bool compare(Runtime& runtime, CompareOp op, const Value& left, const Value& right) {
  switch (op) {
    case CompareOp::kEqual:
      return equals(runtime, left, right);
    case CompareOp::kNotEqual:
      return !equals(runtime, left, right);
    case CompareOp::kLess:
      return ordered(runtime, op, "<", left, right);
    case CompareOp::kLessEqual:
      return ordered(runtime, op, "<=", left, right);
    case CompareOp::kGreater:
      return ordered(runtime, op, ">", left, right);
    case CompareOp::kGreaterEqual:
      return ordered(runtime, op, ">=", left, right);
    case CompareOp::kIn:
      return contains(runtime, right, left);
    case CompareOp::kNotIn:
      return !contains(runtime, right, left);
  }
  return false;
}

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.as_int() != 0;
    case Kind::kFloat:
      return value.as_float() != 0;
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kLoop:
      return length_of(value) != 0;
    default:
      return true;
  }
}

}  // namespace deltaserve::jinja
