// Methods of dict, list and tuple that do not change them, and of cyclers.
#include <algorithm>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_methods.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"

namespace deltaserve::jinja {
namespace {

Value dict_get(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("get", arguments, {"", ""}, 1);
  check_hashable(*bound[0]);
  if (const Value* value = find_key(runtime, self.get<DictObject>(), *bound[0])) {
    return *value;
  }
  return bound[1] != nullptr ? *bound[1] : Value();
}

Value dict_keys(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("keys", arguments, {});
  const auto& dict = self.get<DictObject>();
  std::vector<Value> keys;
  keys.reserve(dict.items.size());
  for (const auto& [key, value] : dict.items) {
    keys.push_back(key);
  }
  return runtime.view("dict_keys", std::move(keys), dict.from_template);
}

Value dict_values(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("values", arguments, {});
  const auto& dict = self.get<DictObject>();
  std::vector<Value> values;
  values.reserve(dict.items.size());
  for (const auto& [key, value] : dict.items) {
    values.push_back(value);
  }
  return runtime.view("dict_values", std::move(values), dict.from_template);
}

Value dict_items(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("items", arguments, {});
  const auto& dict = self.get<DictObject>();
  std::vector<Value> items;
  items.reserve(dict.items.size());
  for (const auto& [key, value] : dict.items) {
    items.push_back(runtime.tuple({key, value}, dict.from_template));
  }
  return runtime.view("dict_items", std::move(items), dict.from_template);
}

// Values are immutable, so a copy is the value.
Value copy(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Bound bound("copy", arguments, {});
  return self;
}

Value sequence_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {""}, 1);
  const std::unique_ptr<Cursor> cursor = iterate(runtime, self);
  int64_t count = 0;
  Value item;
  while (cursor->next(item)) {
    count += equals(runtime, item, *bound[0]) ? 1 : 0;
  }
  return Value::integer(count);
}

Value sequence_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("index", arguments, {"", "", ""}, 1);
  const int64_t size = length_of(self);
  const auto place = [size](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  };
  const int64_t begin = place(bound.integer(1, 0));
  const int64_t end = place(bound.integer(2, size));
  const std::unique_ptr<Cursor> cursor = iterate(runtime, self);
  Value item;
  for (int64_t i = 0; i < end && cursor->next(item); ++i) {
    if (i >= begin && equals(runtime, item, *bound[0])) {
      return Value::integer(i);
    }
  }
  fail_type(repr(runtime, *bound[0]) + " is not in the sequence");
}

Value cycler_next(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Bound bound("next", arguments, {});
  auto& cycler = self.get<CyclerObject>();
  Value item = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return item;
}

Value cycler_reset(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Bound bound("reset", arguments, {});
  self.get<CyclerObject>().position = 0;
  return {};
}

constexpr MethodEntry kDictMethods[] = {{"get", dict_get},
                                        {"items", dict_items},
                                        {"keys", dict_keys},
                                        {"values", dict_values},
                                        {"copy", copy}};
constexpr MethodEntry kListMethods[] = {
    {"index", sequence_index}, {"count", sequence_count}, {"copy", copy}};
constexpr MethodEntry kSequenceMethods[] = {{"index", sequence_index}, {"count", sequence_count}};
constexpr MethodEntry kCyclerMethods[] = {{"next", cycler_next}, {"reset", cycler_reset}};

constexpr std::string_view kMutatingDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kMutatingList[] = {"append", "clear", "pop",    "reverse",
                                              "insert", "sort",  "extend", "remove"};

template <size_t kSize>
const MethodEntry* lookup(const MethodEntry (&entries)[kSize], std::string_view name) {
  const auto* found = std::find_if(std::begin(entries), std::end(entries),
                                   [name](const MethodEntry& entry) { return entry.name == name; });
  return found == std::end(entries) ? nullptr : found;
}

}  // namespace

const MethodEntry* find_container_method(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kDict:
      return lookup(kDictMethods, name);
    case Kind::kList:
      return lookup(kListMethods, name);
    case Kind::kTuple:
    case Kind::kRange:
      return lookup(kSequenceMethods, name);
    case Kind::kCycler:
      return lookup(kCyclerMethods, name);
    default:
      return nullptr;
  }
}

const MethodEntry* find_method(Kind kind, std::string_view name) {
  return kind == Kind::kString ? find_string_method(name) : find_container_method(kind, name);
}

bool is_mutating(Kind kind, std::string_view name) {
  if (kind == Kind::kDict) {
    return std::find(std::begin(kMutatingDict), std::end(kMutatingDict), name) !=
           std::end(kMutatingDict);
  }
  return kind == Kind::kList && std::find(std::begin(kMutatingList), std::end(kMutatingList),
                                          name) != std::end(kMutatingList);
}

}  // namespace deltaserve::jinja
