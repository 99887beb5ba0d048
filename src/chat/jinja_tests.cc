// The tests behind `is`.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

using TestFunction = bool (*)(Runtime&, const Value&, const Arguments&);

const Value& only_argument(std::string_view name, const Arguments& arguments) {
  const Bound bound(name, arguments, {""}, 1);
  return *bound[0];
}

void no_arguments(const Arguments& arguments) {
  const Bound bound("test", arguments, {});
}

template <CompareOp kOp>
bool test_compare(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return compare(runtime, kOp, value, only_argument("comparison", arguments));
}

template <Kind kKind>
bool test_kind(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return value.is(kKind);
}

template <bool kExpected>
bool test_boolean_value(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return value.is(Kind::kBool) && value.as_bool() == kExpected;
}

bool test_defined(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return !value.is_undefined();
}

bool test_number(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return value.is_number();
}

bool test_sequence(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kRange:
      return true;
    default:
      return false;
  }
}

bool test_iterable(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return is_iterable(value);
}

bool test_callable(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kMacro:
    case Kind::kFunction:
    case Kind::kMethod:
    case Kind::kJoiner:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

bool remainder_is(Runtime& runtime, const Value& value, const Value& divisor, Int expected) {
  return equals(runtime, binary(runtime, BinaryOp::kModulo, value, divisor),
                Value::integer(expected));
}

template <int kRemainder>
bool test_parity(Runtime& runtime, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return remainder_is(runtime, value, Value::integer(2), kRemainder);
}

bool test_divisible_by(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Bound bound("divisibleby", arguments, {"num"}, 1);
  return remainder_is(runtime, value, *bound[0], 0);
}

template <bool kUpper>
bool test_case(Runtime& runtime, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  const Text text = str(runtime, value);
  bool cased = false;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded c = utf8::decode_valid(text.bytes().data() + i);
    i += c.length;
    const bool wrong = kUpper ? is_lower(c.code_point) : is_upper(c.code_point);
    if (wrong || is_title(c.code_point)) {
      return false;
    }
    cased = cased || (kUpper ? is_upper(c.code_point) : is_lower(c.code_point));
  }
  return cased;
}

bool test_in(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Bound bound("in", arguments, {"seq"}, 1);
  return contains(runtime, *bound[0], value);
}

bool test_same_as(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Bound bound("sameas", arguments, {"other"}, 1);
  const Value& other = *bound[0];
  if (value.object() != nullptr || other.object() != nullptr) {
    return value.kind() == other.kind() && value.object() == other.object();
  }
  return value.kind() == other.kind() && equals(runtime, value, other);
}

bool test_escaped(Runtime& /*runtime*/, const Value& /*value*/, const Arguments& arguments) {
  no_arguments(arguments);
  return false;
}

bool test_filter(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  check_hashable(value);
  return value.is_string() && find_filter(value.bytes()) != nullptr;
}

bool test_test(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  check_hashable(value);
  return value.is_string() && find_test(value.bytes()) != nullptr;
}

constexpr TestEntry kTests[] = {
    {"!=", test_compare<CompareOp::kNotEqual>},
    {"<", test_compare<CompareOp::kLess>},
    {"<=", test_compare<CompareOp::kLessEqual>},
    {"==", test_compare<CompareOp::kEqual>},
    {">", test_compare<CompareOp::kGreater>},
    {">=", test_compare<CompareOp::kGreaterEqual>},
    {"boolean", test_kind<Kind::kBool>},
    {"callable", test_callable},
    {"defined", test_defined},
    {"divisibleby", test_divisible_by},
    {"eq", test_compare<CompareOp::kEqual>},
    {"equalto", test_compare<CompareOp::kEqual>},
    {"escaped", test_escaped},
    {"even", test_parity<0>},
    {"false", test_boolean_value<false>},
    {"filter", test_filter},
    {"float", test_kind<Kind::kFloat>},
    {"ge", test_compare<CompareOp::kGreaterEqual>},
    {"greaterthan", test_compare<CompareOp::kGreater>},
    {"gt", test_compare<CompareOp::kGreater>},
    {"in", test_in},
    {"integer", test_kind<Kind::kInt>},
    {"iterable", test_iterable},
    {"le", test_compare<CompareOp::kLessEqual>},
    {"lessthan", test_compare<CompareOp::kLess>},
    {"lower", test_case<false>},
    {"lt", test_compare<CompareOp::kLess>},
    {"mapping", test_kind<Kind::kDict>},
    {"ne", test_compare<CompareOp::kNotEqual>},
    {"none", test_kind<Kind::kNone>},
    {"number", test_number},
    {"odd", test_parity<1>},
    {"sameas", test_same_as},
    {"sequence", test_sequence},
    {"string", test_kind<Kind::kString>},
    {"test", test_test},
    {"true", test_boolean_value<true>},
    {"undefined", test_kind<Kind::kUndefined>},
    {"upper", test_case<true>},
};

}  // namespace

const TestEntry* find_test(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [name](const TestEntry& entry) { return entry.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace deltaserve::jinja
