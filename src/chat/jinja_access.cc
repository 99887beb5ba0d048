// Attribute and item lookup in the order jinja2's sandbox looks, and slices as Python cuts them.
#include "chat/jinja_access.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_loop.h"
#include "chat/jinja_macro.h"
#include "chat/jinja_methods.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

Value missing_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  return runtime.undefined(
      fmt::format("{} has no attribute {}", quote(type_description(object)), quote(name)));
}

Value unsafe_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  return runtime.undefined(fmt::format("access to attribute {} of {} object is unsafe.",
                                       quote(name), quote(type_name(object))),
                           FailureKind::kSecurity);
}

bool is_dunder(std::string_view name) {
  return name.size() > 4 && name.starts_with("__") && name.ends_with("__");
}

Value bind(const Value& self, const MethodEntry& entry) {
  auto object = std::make_shared<MethodObject>();
  object->name = entry.name;
  object->self = self;
  object->call = entry.function;
  return Value(Kind::kMethod, std::move(object));
}

std::optional<Value> range_attribute(const RangeObject& range, std::string_view name) {
  if (name == "start") {
    return Value::integer(range.start);
  }
  if (name == "stop") {
    return Value::integer(range.stop);
  }
  if (name == "step") {
    return Value::integer(range.step);
  }
  return std::nullopt;
}

// An attribute in Python's sense: what getattr() finds.
std::optional<Value> python_attribute(Runtime& runtime, const Value& object,
                                      std::string_view name) {
  switch (object.kind()) {
    case Kind::kNamespace: {
      const Value* value = object.get<NamespaceObject>().find(name);
      if (value == nullptr && name != "__class__") {
        return std::nullopt;
      }
      return name.starts_with("_") ? unsafe_attribute(runtime, object, name) : *value;
    }
    case Kind::kLoop:
      if (auto value = object.get<LoopObject>().attribute(runtime, object, name)) {
        return value;
      }
      break;
    case Kind::kMacro:
      if (auto value = macro_attribute(runtime, object.get<MacroObject>(), name)) {
        return value;
      }
      break;
    case Kind::kRange:
      if (auto value = range_attribute(object.get<RangeObject>(), name)) {
        return value;
      }
      break;
    case Kind::kTuple: {
      const auto& tuple = object.get<ListObject>();
      if (tuple.view_name == kGroupTuple && (name == "grouper" || name == "list")) {
        return tuple.items[name == "grouper" ? 0 : 1];
      }
      break;
    }
    case Kind::kCycler:
      if (name == "current") {
        const auto& cycler = object.get<CyclerObject>();
        return cycler.items[cycler.position];
      }
      break;
    default:
      break;
  }
  if (const MethodEntry* entry = find_method(object.kind(), name)) {
    return bind(object, *entry);
  }
  if (is_mutating(object.kind(), name) || is_dunder(name)) {
    return unsafe_attribute(runtime, object, name);
  }
  return std::nullopt;
}

// The position that `index` means in a sequence of `size`, or nullopt beyond its ends.
std::optional<size_t> position_of(const Value& index, int64_t size) {
  Int position = index.as_int();
  if (position < 0) {
    position += size;
  }
  if (position < 0 || position >= size) {
    return std::nullopt;
  }
  return static_cast<size_t>(position);
}

std::optional<Value> sequence_item(Runtime& runtime, const Value& object, const Value& key) {
  if (!key.is_integral()) {
    return std::nullopt;
  }
  switch (object.kind()) {
    case Kind::kList:
    case Kind::kTuple: {
      const auto& items = object.get<ListObject>().items;
      const auto position = position_of(key, static_cast<int64_t>(items.size()));
      return position ? std::optional(items[*position]) : std::nullopt;
    }
    case Kind::kString: {
      const auto& string = object.get<StringObject>();
      const auto position = position_of(key, static_cast<int64_t>(string.length));
      return position ? std::optional(character_at(runtime, string, *position)) : std::nullopt;
    }
    case Kind::kRange: {
      const auto& range = object.get<RangeObject>();
      const auto position = position_of(key, range.size());
      return position ? std::optional(Value::integer(range.at(static_cast<int64_t>(*position))))
                      : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// slice.indices(): where a slice of a sequence of `size` begins, how it strides, how many it takes.
struct SliceIndices {
  int64_t start;
  int64_t step;
  int64_t count;
};

bool is_index(const std::optional<Value>& part) {
  return !part || part->is_none() || part->is_integral();
}

SliceIndices slice_indices(const SliceParts& parts, int64_t size) {
  Int step = 1;
  if (parts.step && !parts.step->is_none()) {
    step = parts.step->as_int();
  }
  if (step == 0) {
    fail_type("slice step cannot be zero");
  }
  const Int lowest = step > 0 ? 0 : -1;
  const Int highest = step > 0 ? size : size - 1;
  const auto place = [&](const std::optional<Value>& part, Int absent) {
    if (!part || part->is_none()) {
      return absent;
    }
    const Int index = part->as_int();
    return std::clamp(index < 0 ? index + size : index, lowest, highest);
  };
  const Int start = place(parts.start, step > 0 ? lowest : highest);
  const Int stop = place(parts.stop, step > 0 ? highest : lowest);
  const Int span = step > 0 ? stop - start : start - stop;
  const Int stride = step > 0 ? step : -step;
  const Int count = span <= 0 ? 0 : (span + stride - 1) / stride;
  // A stride beyond the sequence takes one item at most, so it can be cut to 64 bits.
  const Int near_step = std::clamp(step, -Int{size} - 1, Int{size} + 1);
  return {static_cast<int64_t>(start), static_cast<int64_t>(near_step),
          static_cast<int64_t>(count)};
}

Value slice_string(Runtime& runtime, const StringObject& string, const SliceParts& parts) {
  const SliceIndices indices = slice_indices(parts, static_cast<int64_t>(string.length));
  const std::string_view bytes = string.text.bytes();
  runtime.charge_bytes(bytes.size());
  if (indices.step == 1) {
    const auto start = static_cast<size_t>(indices.start);
    const auto count = static_cast<size_t>(indices.count);
    if (string.ascii()) {
      return runtime.string(string.text.slice(start, start + count));
    }
    const size_t begin = byte_offset(bytes, start);
    const size_t end = begin + byte_offset(bytes.substr(begin), count);
    return runtime.string(string.text.slice(begin, end));
  }
  std::vector<size_t> starts;
  starts.reserve(string.length + 1);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!utf8::is_continuation(bytes[i])) {
      starts.push_back(i);
    }
  }
  starts.push_back(bytes.size());
  Text out;
  for (int64_t i = 0; i < indices.count; ++i) {
    const auto at = static_cast<size_t>(indices.start + i * indices.step);
    out.append(string.text, starts[at], starts[at + 1]);
  }
  return runtime.string(std::move(out));
}

}  // namespace

Value character_at(Runtime& runtime, const StringObject& string, size_t index) {
  if (string.ascii()) {
    return runtime.string(string.text.slice(index, index + 1));
  }
  const std::string_view bytes = string.text.bytes();
  runtime.charge_bytes(index);
  const size_t begin = byte_offset(bytes, index);
  return runtime.string(
      string.text.slice(begin, begin + utf8::decode_valid(bytes.data() + begin).length));
}

Value get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is_undefined()) {
    if (is_dunder(name)) {
      return unsafe_attribute(runtime, object, name);
    }
    fail_undefined(object);
  }
  if (auto attribute = python_attribute(runtime, object, name)) {
    return *std::move(attribute);
  }
  if (object.is(Kind::kDict)) {
    if (const Value* value = object.get<DictObject>().find(name)) {
      return *value;
    }
  }
  return missing_attribute(runtime, object, name);
}

Value get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is_undefined()) {
    fail_undefined(object);
  }
  if (object.is(Kind::kDict)) {
    if (const Value* value = find_key(runtime, object.get<DictObject>(), key)) {
      return *value;
    }
  } else if (auto item = sequence_item(runtime, object, key)) {
    return *std::move(item);
  }
  if (key.is_string()) {
    if (auto attribute = python_attribute(runtime, object, key.bytes())) {
      return *std::move(attribute);
    }
    return missing_attribute(runtime, object, key.bytes());
  }
  return runtime.undefined(
      fmt::format("{} has no element {}", type_description(object), repr(runtime, key)));
}

Value get_slice(Runtime& runtime, const Value& object, const SliceParts& parts) {
  if (object.is_undefined()) {
    fail_undefined(object);
  }
  const bool sliceable = object.is_string() || object.is(Kind::kList) || object.is(Kind::kTuple) ||
                         object.is(Kind::kRange);
  if (!sliceable) {
    fail_type(object.is(Kind::kDict)
                  ? std::string("unhashable type: 'slice'")
                  : fmt::format("'{}' object is not subscriptable", type_name(object)));
  }
  if (!is_index(parts.start) || !is_index(parts.stop) || !is_index(parts.step)) {
    fail_type("slice indices must be integers or None or have an __index__ method");
  }
  if (object.is_string()) {
    return slice_string(runtime, object.get<StringObject>(), parts);
  }
  const SliceIndices indices = slice_indices(parts, length_of(object));
  if (object.is(Kind::kRange)) {
    const auto& range = object.get<RangeObject>();
    auto cut = std::make_shared<RangeObject>();
    cut->start = static_cast<int64_t>(range.at(indices.start));
    cut->step = static_cast<int64_t>(Int{range.step} * indices.step);
    cut->stop = static_cast<int64_t>(range.at(indices.start + indices.count * indices.step));
    return Value(Kind::kRange, std::move(cut));
  }
  const auto& list = object.get<ListObject>();
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(indices.count));
  for (int64_t i = 0; i < indices.count; ++i) {
    items.push_back(list.items[static_cast<size_t>(indices.start + i * indices.step)]);
  }
  return object.is(Kind::kList) ? runtime.list(std::move(items), list.from_template)
                                : runtime.tuple(std::move(items), list.from_template);
}

int64_t length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return static_cast<int64_t>(value.get<StringObject>().length);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDictView:
      return static_cast<int64_t>(value.get<ListObject>().items.size());
    case Kind::kDict:
      return static_cast<int64_t>(value.get<DictObject>().items.size());
    case Kind::kRange:
      return value.get<RangeObject>().size();
    case Kind::kLoop:
      return value.get<LoopObject>().length();
    default:
      fail_type(fmt::format("object of type '{}' has no len()", type_name(value)));
  }
}

}  // namespace deltaserve::jinja
