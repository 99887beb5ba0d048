// Python's operators on values. Every function raises the TypeError that Python would, and
// jinja2's error for undefined operands.
#pragma once

#include <cstdint>
#include <vector>

#include "chat/jinja_objects.h"
#include "chat/jinja_runtime.h"

namespace deltaserve::jinja {

enum class BinaryOp : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower
};
enum class CompareOp : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

Value binary(Runtime& runtime, BinaryOp op, const Value& left, const Value& right);
Value negate(const Value& value);
Value plus(const Value& value);

bool compare(Runtime& runtime, CompareOp op, const Value& left, const Value& right);
bool equals(Runtime& runtime, const Value& left, const Value& right);
// left < right.
bool less(Runtime& runtime, const Value& left, const Value& right);
// `item in container`.
bool contains(Runtime& runtime, const Value& container, const Value& item);

bool truth(const Value& value);

// Raises the error of an operation on an undefined value.
[[noreturn]] void fail_undefined(const Value& value);

// Raises TypeError for what cannot be a dict key.
void check_hashable(const Value& key);
// Of equal keys keeps the first's place with the last's value, as a Python dict does.
void merge_equal_keys(Runtime& runtime, std::vector<DictObject::Item>& items);
// The value of any key.
const Value* find_key(Runtime& runtime, const DictObject& dict, const Value& key);

// Exact order of an integer and a float: negative, 0, positive; nan gives kUnordered.
inline constexpr int kUnordered = 2;
int order_numbers(const Value& left, const Value& right);

// Substring search in linear time whatever the texts are; npos if absent.
size_t find_text(std::string_view text, std::string_view needle, size_t begin = 0);

}  // namespace deltaserve::jinja
