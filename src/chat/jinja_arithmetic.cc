// Arithmetic with Python's rules: floor division and modulo round towards minus infinity, `/`
// always gives a float, text and lists repeat and join.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "chat/jinja_format.h"
#include "chat/jinja_operators.h"

namespace deltaserve::jinja {
namespace {

constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

[[noreturn]] void fail_operands(BinaryOp op, const Value& left, const Value& right) {
  fail_type(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'",
                        kSymbols[static_cast<size_t>(op)], type_name(left), type_name(right)));
}

[[noreturn]] void fail_overflow() {
  fail_type("integer out of range (128 bits)");
}

Int floor_divide(Int left, Int right) {
  const Int quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

Int floor_modulo(Int left, Int right) {
  const Int rest = left % right;
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

double floor_modulo(double left, double right) {
  double rest = std::fmod(left, right);
  if (rest != 0) {
    return (rest < 0) != (right < 0) ? rest + right : rest;
  }
  return std::copysign(0.0, right);
}

// As CPython does it: from the modulo, so that the two agree.
double floor_divide(double left, double right) {
  const double quotient = (left - floor_modulo(left, right)) / right;
  if (quotient == 0) {
    return std::copysign(0.0, left / right);
  }
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1.0 : floored;
}

Int power(Int base, Int exponent) {
  Int result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
      fail_overflow();
    }
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) {
      fail_overflow();
    }
  }
  return result;
}

Value float_power(double base, double exponent, bool origin) {
  if (base == 0 && exponent < 0) {
    fail_type("0.0 cannot be raised to a negative power");
  }
  const double result = std::pow(base, exponent);
  if (std::isnan(result) && !std::isnan(base) && !std::isnan(exponent)) {
    fail_type("complex numbers are not supported");
  }
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) {
    fail_type("(34, 'Numerical result out of range')");
  }
  return Value::floating(result, origin);
}

constexpr Int kLowestInt = static_cast<Int>(static_cast<unsigned __int128>(1) << 127);

Value integer_op(BinaryOp op, Int left, Int right, bool origin) {
  Int result = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOp::kAdd:
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case BinaryOp::kSubtract:
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case BinaryOp::kMultiply:
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    case BinaryOp::kDivide:
      if (right == 0) {
        fail_type("division by zero");
      }
      return Value::floating(static_cast<double>(left) / static_cast<double>(right), origin);
    case BinaryOp::kFloorDivide:
    case BinaryOp::kModulo:
      if (right == 0) {
        fail_type("integer division or modulo by zero");
      }
      overflow = left == kLowestInt && right == -1;
      if (!overflow) {
        result = op == BinaryOp::kModulo ? floor_modulo(left, right) : floor_divide(left, right);
      }
      break;
    case BinaryOp::kPower:
      if (right < 0) {
        return float_power(static_cast<double>(left), static_cast<double>(right), origin);
      }
      result = power(left, right);
      break;
  }
  if (overflow) {
    fail_overflow();
  }
  return Value::integer(result, origin);
}

Value float_op(BinaryOp op, double left, double right, bool origin) {
  switch (op) {
    case BinaryOp::kAdd:
      return Value::floating(left + right, origin);
    case BinaryOp::kSubtract:
      return Value::floating(left - right, origin);
    case BinaryOp::kMultiply:
      return Value::floating(left * right, origin);
    case BinaryOp::kPower:
      return float_power(left, right, origin);
    default:
      break;
  }
  if (right == 0) {
    fail_type(op == BinaryOp::kModulo ? "float modulo" : "float division by zero");
  }
  if (op == BinaryOp::kDivide) {
    return Value::floating(left / right, origin);
  }
  return Value::floating(
      op == BinaryOp::kModulo ? floor_modulo(left, right) : floor_divide(left, right), origin);
}

size_t repetitions(Int count, size_t size, size_t limit) {
  if (count > std::numeric_limits<int64_t>::max()) {
    fail_type("cannot fit 'int' into an index-sized integer");
  }
  if (count <= 0 || size == 0) {
    return 0;
  }
  if (count > static_cast<Int>(limit / size)) {
    throw TemplateFailure(FailureKind::kLimit, "a repeated value is too large");
  }
  return static_cast<size_t>(count);
}

Value repeat(Runtime& runtime, const Value& sequence, Int count) {
  if (sequence.is_string()) {
    const Text& text = sequence.text();
    const size_t times = repetitions(count, text.size(), kMaxTextBytes);
    runtime.charge_bytes(text.size() * times);
    Text out;
    out.reserve(text.size() * times);
    for (size_t i = 0; i < times; ++i) {
      runtime.step();
      out.append(text);
    }
    return runtime.string(std::move(out));
  }
  const auto& items = sequence.get<ListObject>().items;
  const size_t times = repetitions(count, items.size(), kMaxSteps / 4);
  runtime.step(items.size() * times);
  std::vector<Value> out;
  out.reserve(items.size() * times);
  for (size_t i = 0; i < times; ++i) {
    out.insert(out.end(), items.begin(), items.end());
  }
  return sequence.is(Kind::kList) ? runtime.list(std::move(out)) : runtime.tuple(std::move(out));
}

bool repeats(const Value& value) {
  return value.is_string() || value.is(Kind::kList) || value.is(Kind::kTuple);
}

Value join(Runtime& runtime, const Value& left, const Value& right) {
  if (left.is_string()) {
    runtime.charge_bytes(left.text().size() + right.text().size());
    Text out;
    out.reserve(left.text().size() + right.text().size());
    out.append(left.text());
    out.append(right.text());
    return runtime.string(std::move(out));
  }
  std::vector<Value> items = left.get<ListObject>().items;
  const auto& more = right.get<ListObject>().items;
  items.insert(items.end(), more.begin(), more.end());
  return left.is(Kind::kList) ? runtime.list(std::move(items)) : runtime.tuple(std::move(items));
}

}  // namespace

Value binary(Runtime& runtime, BinaryOp op, const Value& left, const Value& right) {
  if (op == BinaryOp::kModulo && left.is_string()) {
    return format_percent(runtime, left.text(), right);
  }
  if (left.is_undefined()) {
    fail_undefined(left);
  }
  if (right.is_undefined()) {
    fail_undefined(right);
  }
  const bool origin = left.from_template() && right.from_template();
  if (left.is_integral() && right.is_integral()) {
    return integer_op(op, left.as_int(), right.as_int(), origin);
  }
  if (left.is_number() && right.is_number()) {
    return float_op(op, left.as_float(), right.as_float(), origin);
  }
  if (op == BinaryOp::kAdd && repeats(left)) {
    if (left.kind() == right.kind()) {
      return join(runtime, left, right);
    }
    if (left.is_string()) {
      fail_type(fmt::format("can only concatenate str (not \"{}\") to str", type_name(right)));
    }
  }
  if (op == BinaryOp::kMultiply && repeats(left) && right.is_integral()) {
    return repeat(runtime, left, right.as_int());
  }
  if (op == BinaryOp::kMultiply && repeats(right) && left.is_integral()) {
    return repeat(runtime, right, left.as_int());
  }
  fail_operands(op, left, right);
}

Value negate(const Value& value) {
  if (value.is_undefined()) {
    fail_undefined(value);
  }
  if (value.is(Kind::kFloat)) {
    return Value::floating(-value.as_float(), value.from_template());
  }
  if (!value.is_integral()) {
    fail_type(fmt::format("bad operand type for unary -: '{}'", type_name(value)));
  }
  return integer_op(BinaryOp::kSubtract, 0, value.as_int(), value.from_template());
}

Value plus(const Value& value) {
  if (value.is_undefined()) {
    fail_undefined(value);
  }
  if (!value.is_number()) {
    fail_type(fmt::format("bad operand type for unary +: '{}'", type_name(value)));
  }
  return value.is(Kind::kFloat) ? value : Value::integer(value.as_int(), value.from_template());
}

}  // namespace deltaserve::jinja
