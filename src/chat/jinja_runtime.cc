// Makes values and keeps the account of what a render has spent.
#include "chat/jinja_runtime.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_operators.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

// Dicts up to this size are searched linearly, which beats a sorted index.
constexpr size_t kIndexedDictSize = 12;

// What a string's object takes beside its bytes, so that many small strings are charged for too.
constexpr size_t kStringOverhead = 128;

Value make_string(Text text) {
  auto object = std::make_shared<StringObject>();
  object->length = count_code_points(text.bytes());
  object->text = std::move(text);
  return Value(Kind::kString, std::move(object));
}

}  // namespace

Value* Scope::find(uint32_t name) {
  for (auto& [id, value] : variables) {
    if (id == name) {
      return &value;
    }
  }
  return nullptr;
}

void Scope::set(uint32_t name, Value value) {
  if (Value* found = find(name)) {
    *found = std::move(value);
  } else {
    variables.emplace_back(name, std::move(value));
  }
}

Runtime::~Runtime() {
  for (const auto& object : namespaces_) {
    object->attributes.clear();
  }
  for (const auto& scope : captured_) {
    scope->variables.clear();
  }
}

void Runtime::fail_steps() {
  throw TemplateFailure(FailureKind::kLimit,
                        fmt::format("the chat template did not finish within {} steps", kMaxSteps));
}

void Runtime::fail_depth() {
  throw TemplateFailure(
      FailureKind::kLimit,
      fmt::format("the chat template nests deeper than {} evaluations", kMaxEvaluationDepth));
}

uint32_t nested_depth(uint32_t inner) {
  if (inner >= kMaxValueDepth) {
    throw TemplateFailure(FailureKind::kLimit,
                          fmt::format("a value nests deeper than {} levels", kMaxValueDepth));
  }
  return inner + 1;
}

void Runtime::charge_bytes(size_t bytes) {
  if (bytes > kMaxTextBytes) {
    throw TemplateFailure(
        FailureKind::kLimit,
        fmt::format("the chat template made a text of more than {} MiB", kMaxTextBytes >> 20));
  }
  step(bytes / kBytesPerStep);
}

Value Runtime::string(Text text) {
  charge_bytes(text.size() + kStringOverhead);
  return make_string(std::move(text));
}

Value constant_string(std::string bytes) {
  return make_string(Text(std::move(bytes), true));
}

std::shared_ptr<ListObject> Runtime::make_list(std::vector<Value> items, bool from_template) {
  step(1 + 2 * items.size());
  auto object = std::make_shared<ListObject>();
  uint32_t depth = 0;
  for (const Value& item : items) {
    depth = std::max(depth, item.depth());
  }
  object->depth = nested_depth(depth);
  object->items = std::move(items);
  object->from_template = from_template;
  return object;
}

Value Runtime::list(std::vector<Value> items, bool from_template) {
  return Value(Kind::kList, make_list(std::move(items), from_template));
}

Value Runtime::tuple(std::vector<Value> items, bool from_template) {
  return Value(Kind::kTuple, make_list(std::move(items), from_template));
}

Value Runtime::view(std::string_view name, std::vector<Value> items, bool from_template) {
  auto object = make_list(std::move(items), from_template);
  object->view_name = name;
  return Value(Kind::kDictView, std::move(object));
}

Value Runtime::dict(std::vector<DictObject::Item> items, bool from_template) {
  step(1 + 4 * items.size());
  auto object = std::make_shared<DictObject>();
  uint32_t depth = 0;
  for (const auto& [key, value] : items) {
    check_hashable(key);
    depth = std::max({depth, key.depth(), value.depth()});
  }
  object->depth = nested_depth(depth);
  object->from_template = from_template;
  merge_equal_keys(*this, items);
  object->items = std::move(items);
  if (object->items.size() > kIndexedDictSize) {
    object->index();
  }
  return Value(Kind::kDict, std::move(object));
}

Value Runtime::iterator(std::function<bool(Value&)> next, uint32_t depth) {
  step();
  auto object = std::make_shared<IteratorObject>();
  object->next = std::move(next);
  object->depth = nested_depth(depth);
  return Value(Kind::kIterator, std::move(object));
}

Value Runtime::name_space() {
  step();
  auto object = std::make_shared<NamespaceObject>();
  namespaces_.push_back(object);
  return Value(Kind::kNamespace, std::move(object));
}

Value Runtime::undefined(std::string message, FailureKind failure) {
  auto object = std::make_shared<UndefinedObject>();
  object->message = std::move(message);
  object->failure = failure;
  return Value(Kind::kUndefined, std::move(object));
}

void Runtime::capture(const std::shared_ptr<Scope>& scope) {
  for (std::shared_ptr<Scope> s = scope; s != nullptr && !s->captured; s = s->parent) {
    step();
    s->captured = true;
    captured_.push_back(s);
  }
}

}  // namespace deltaserve::jinja
