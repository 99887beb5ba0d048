// One render's account: it makes every string and container, charging steps for their size, counts
// the depth of evaluation, and breaks the reference cycles that namespaces and closures can form.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja_limits.h"
#include "chat/jinja_objects.h"
#include "chat/jinja_value.h"

namespace deltaserve::jinja {

// The variables of a block. Names are numbered at compile time.
struct Scope {
  std::vector<std::pair<uint32_t, Value>> variables;
  std::shared_ptr<Scope> parent;
  bool captured = false;  // a macro refers to it

  Value* find(uint32_t name);
  void set(uint32_t name, Value value);
};

class Runtime {
 public:
  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  void step(uint64_t count = 1) {
    if (count > steps_left_) {
      fail_steps();
    }
    steps_left_ -= count;
  }
  // Before `bytes` of text are made.
  void charge_bytes(size_t bytes);

  Value string(Text text);
  Value string(std::string bytes, bool from_template = true) {
    return string(Text(std::move(bytes), from_template));
  }
  Value list(std::vector<Value> items, bool from_template = true);
  Value tuple(std::vector<Value> items, bool from_template = true);
  Value view(std::string_view name, std::vector<Value> items, bool from_template);
  // Of equal keys the last value wins, in the place of the first.
  Value dict(std::vector<DictObject::Item> items, bool from_template = true);
  Value iterator(std::function<bool(Value&)> next, uint32_t depth);
  Value name_space();
  Value undefined(std::string message, FailureKind failure = FailureKind::kUndefined);

  // Keeps a scope that a macro refers to until the end of the render.
  void capture(const std::shared_ptr<Scope>& scope);

  class DepthGuard {
   public:
    explicit DepthGuard(Runtime& runtime) : runtime_(runtime) {
      if (++runtime_.depth_ > kMaxEvaluationDepth) {
        --runtime_.depth_;
        fail_depth();
      }
    }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;
    ~DepthGuard() { --runtime_.depth_; }

   private:
    Runtime& runtime_;
  };

 private:
  [[noreturn]] static void fail_steps();
  [[noreturn]] static void fail_depth();
  std::shared_ptr<ListObject> make_list(std::vector<Value> items, bool from_template);

  uint64_t steps_left_ = kMaxSteps;
  int depth_ = 0;
  std::vector<std::shared_ptr<NamespaceObject>> namespaces_;
  std::vector<std::shared_ptr<Scope>> captured_;
};

// Depth of a container around values of the deepest `inner`; fails beyond kMaxValueDepth.
uint32_t nested_depth(uint32_t inner);

// A string outside of any render: constants of a compiled template.
Value constant_string(std::string bytes);

}  // namespace deltaserve::jinja
