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
