// Filters on single values: defaults, numbers, JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_json.h"
#include "chat/jinja_number.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"

namespace deltaserve::jinja {
namespace {

Value filter_default(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  if (input.is_undefined() || (bound.flag(1, false) && !truth(input))) {
    return bound[0] != nullptr ? *bound[0] : runtime.string("");
  }
  return input;
}

std::optional<Int> whole_part(double value) {
  // 2^127 bounds Int.
  constexpr double kBound = 170141183460469231731687303715884105728.0;
  if (!(std::fabs(value) < kBound)) {
    return std::nullopt;
  }
  return static_cast<Int>(value);
}

Value filter_int(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  const Value absent = bound[0] != nullptr ? *bound[0] : Value::integer(0);
  if (input.is_undefined()) {
    fail_undefined(input);
  }
  if (input.is_integral()) {
    return Value::integer(input.as_int(), input.from_template());
  }
  if (input.is(Kind::kFloat)) {
    if (std::isinf(input.as_float())) {
      fail_type("cannot convert float infinity to integer");
    }
    const auto whole = whole_part(input.as_float());
    return whole ? Value::integer(*whole, input.from_template()) : absent;
  }
  if (!input.is_string()) {
    return absent;
  }
  const bool origin = input.text().from_template_at(0);
  const int64_t base = bound.integer(1, 10);
  if (base != 0 && (base < 2 || base > 36)) {
    return absent;
  }
  if (const auto number = parse_int(input.bytes(), static_cast<int>(base))) {
    return Value::integer(*number, origin);
  }
  const auto number = parse_float(input.bytes());
  const auto whole = number ? whole_part(*number) : std::nullopt;
  return whole ? Value::integer(*whole, origin) : absent;
}

Value filter_float(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  if (input.is_undefined()) {
    fail_undefined(input);
  }
  if (input.is_number()) {
    return Value::floating(input.as_float(), input.from_template());
  }
  const auto number = input.is_string() ? parse_float(input.bytes()) : std::nullopt;
  if (number) {
    return Value::floating(*number, input.text().from_template_at(0));
  }
  return bound[0] != nullptr ? *bound[0] : Value::floating(0.0);
}

Value filter_abs(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const Bound bound("abs", arguments, {});
  if (!input.is_number()) {
    fail_type(fmt::format("bad operand type for abs(): '{}'", type_name(input)));
  }
  if (input.is(Kind::kFloat)) {
    return Value::floating(std::fabs(input.as_float()), input.from_template());
  }
  return input.as_int() < 0 ? negate(input) : Value::integer(input.as_int(), input.from_template());
}

// round(int, -n): to tens, hundreds, ..., half to even.
Int round_integer(Int value, int64_t digits) {
  if (digits >= 0) {
    return value;
  }
  // 10^39 exceeds 128 bits.
  if (digits < -38) {
    return 0;
  }
  Int unit = 1;
  for (int64_t i = digits; i < 0; ++i) {
    unit *= 10;
  }
  const Int rest = ((value % unit) + unit) % unit;
  const Int below = value - rest;
  const bool odd = (below / unit) % 2 != 0;
  const Int twice = rest - (unit - rest);
  return twice > 0 || (twice == 0 && odd) ? below + unit : below;
}

Value filter_round(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  const int64_t digits = bound.integer(0, 0);
  const std::string method = bound[1] == nullptr ? "common" : str(runtime, *bound[1]).bytes();
  if (method != "common" && method != "ceil" && method != "floor") {
    fail_type("method must be common, ceil or floor");
  }
  if (input.is_undefined() && method != "common") {
    fail_undefined(input);
  }
  if (!input.is_number()) {
    fail_type(fmt::format("type {} doesn't define __round__ method", type_name(input)));
  }
  if (method == "common") {
    if (input.is_integral()) {
      return Value::integer(round_integer(input.as_int(), digits), input.from_template());
    }
    // Beyond these no digit of a double is left to round.
    const auto near = static_cast<int>(std::clamp<int64_t>(digits, -400, 1200));
    return Value::floating(round_float(input.as_float(), near), input.from_template());
  }
  const Value unit = binary(runtime, BinaryOp::kPower, Value::integer(10), Value::integer(digits));
  const Value scaled = binary(runtime, BinaryOp::kMultiply, input, unit);
  const double whole =
      method == "ceil" ? std::ceil(scaled.as_float()) : std::floor(scaled.as_float());
  const auto exact = scaled.is_integral() ? std::optional(scaled.as_int()) : whole_part(whole);
  if (!exact) {
    fail_type("cannot convert float infinity to integer");
  }
  return binary(runtime, BinaryOp::kDivide, Value::integer(*exact, input.from_template()), unit);
}

Value filter_tojson(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.flag(0, false);
  style.sort_keys = bound.flag(3, false);
  if (bound[1] != nullptr && !bound[1]->is_none()) {
    if (bound[1]->is_string()) {
      style.indent = bound[1]->bytes();
    } else {
      const int64_t width = to_int64(*bound[1]);
      runtime.charge_bytes(static_cast<size_t>(std::max<int64_t>(width, 0)));
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
    style.item_separator = std::string(",");
  }
  if (bound[2] != nullptr && !bound[2]->is_none()) {
    const std::vector<Value> separators = collect(runtime, *bound[2]);
    if (separators.size() != 2) {
      fail_type("tojson: separators must be a pair");
    }
    style.item_separator = to_text(separators[0], "tojson").bytes();
    style.key_separator = to_text(separators[1], "tojson").bytes();
  }
  return runtime.string(to_json(runtime, input, style));
}

Value filter_attr(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("attr", arguments, {"name"}, 1);
  const std::string name = to_text(*bound[0], "attr").bytes();
  // Attributes only, never keys.
  if (input.is(Kind::kDict)) {
    const Value empty = runtime.dict({});
    return get_attribute(runtime, empty, name).is_undefined()
               ? runtime.undefined(fmt::format("'dict object' has no attribute {}", quote(name)))
               : get_attribute(runtime, input, name);
  }
  return get_attribute(runtime, input, name);
}

constexpr FilterEntry kFilters[] = {
    {"default", filter_default}, {"d", filter_default}, {"int", filter_int},
    {"float", filter_float},     {"abs", filter_abs},   {"round", filter_round},
    {"tojson", filter_tojson},   {"attr", filter_attr},
};

}  // namespace

const FilterEntry* find_value_filter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [name](const FilterEntry& entry) { return entry.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace deltaserve::jinja
