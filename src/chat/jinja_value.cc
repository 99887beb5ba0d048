// Names of types and the small lookups of dicts and namespaces.
#include "chat/jinja_value.h"

#include <algorithm>
#include <numeric>

#include "chat/jinja_loop.h"
#include "chat/jinja_objects.h"

namespace deltaserve::jinja {

const Text& Value::text() const {
  return get<StringObject>().text;
}

uint32_t Value::depth() const {
  switch (kind_) {
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDictView:
      return get<ListObject>().depth;
    case Kind::kDict:
      return get<DictObject>().depth;
    case Kind::kIterator:
      return get<IteratorObject>().depth;
    case Kind::kCycler:
      return get<CyclerObject>().depth;
    case Kind::kLoop:
      return get<LoopObject>().depth();
    case Kind::kMethod:
      return get<MethodObject>().self.depth() + 1;
    default:
      return 0;
  }
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kDictView:
      return value.get<ListObject>().view_name;
    case Kind::kRange:
      return "range";
    case Kind::kIterator:
      return "generator";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kMacro:
      return "Macro";
    case Kind::kFunction:
      return "function";
    case Kind::kMethod:
      return "builtin_function_or_method";
    case Kind::kJoiner:
      return "Joiner";
    case Kind::kCycler:
      return "Cycler";
  }
  return "object";
}

std::string type_description(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
      return "None";
    case Kind::kUndefined:
    case Kind::kLoop:
    case Kind::kMacro:
      return "jinja2.runtime." + std::string(type_name(value)) + " object";
    case Kind::kNamespace:
    case Kind::kJoiner:
    case Kind::kCycler:
      return "jinja2.utils." + std::string(type_name(value)) + " object";
    default:
      return std::string(type_name(value)) + " object";
  }
}

const Value* DictObject::find(std::string_view key) const {
  if (by_key.empty()) {
    for (const auto& [name, value] : items) {
      if (name.is_string() && name.bytes() == key) {
        return &value;
      }
    }
    return nullptr;
  }
  const auto found = std::lower_bound(
      by_key.begin(), by_key.end(), key,
      [this](uint32_t i, std::string_view k) { return items[i].first.bytes() < k; });
  return found != by_key.end() && items[*found].first.bytes() == key ? &items[*found].second
                                                                     : nullptr;
}

void DictObject::index() {
  by_key.clear();
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].first.is_string()) {
      by_key.push_back(i);
    }
  }
  std::sort(by_key.begin(), by_key.end(), [this](uint32_t a, uint32_t b) {
    return items[a].first.bytes() < items[b].first.bytes();
  });
}

int64_t RangeObject::size() const {
  const Int span = step > 0 ? Int{stop} - start : Int{start} - stop;
  const Int stride = step > 0 ? Int{step} : -Int{step};
  return span <= 0 ? 0 : static_cast<int64_t>((span + stride - 1) / stride);
}

const Value* NamespaceObject::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

void NamespaceObject::set(std::string_view name, Value value) {
  for (auto& [key, current] : attributes) {
    if (key == name) {
      current = std::move(value);
      return;
    }
  }
  attributes.emplace_back(std::string(name), std::move(value));
}

}  // namespace deltaserve::jinja
