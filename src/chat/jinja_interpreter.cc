// Statements: blocks, loops, assignments and output.
#include "chat/jinja_interpreter.h"

#include <fmt/format.h>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_json.h"
#include "chat/jinja_loop.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"

namespace deltaserve::jinja {

Interpreter::Interpreter(const Template& source)
    : template_(source), globals_(source.names.size()), scope_(std::make_shared<Scope>()) {
  for (const GlobalEntry& entry : global_functions()) {
    const auto found = std::find(source.names.begin(), source.names.end(), entry.name);
    if (found != source.names.end()) {
      auto function = std::make_shared<FunctionObject>();
      function->name = entry.name;
      function->call = entry.call;
      globals_[static_cast<size_t>(found - source.names.begin())] = {
          true, Value(Kind::kFunction, std::move(function))};
    }
  }
}

void Interpreter::define(std::string_view name, const json::Value& value) {
  const auto found = std::find(template_.names.begin(), template_.names.end(), name);
  if (found != template_.names.end()) {
    globals_[static_cast<size_t>(found - template_.names.begin())] = {true,
                                                                      from_json(runtime_, value)};
  }
}

void Interpreter::define_constant(std::string_view name, const std::string& value) {
  const auto found = std::find(template_.names.begin(), template_.names.end(), name);
  if (found != template_.names.end()) {
    globals_[static_cast<size_t>(found - template_.names.begin())] = {true, runtime_.string(value)};
  }
}

Text Interpreter::render() {
  Text out;
  const OutputGuard guard(*this, out);
  run(template_.body);
  return out;
}

Interpreter::ScopeGuard::ScopeGuard(Interpreter& interpreter, std::shared_ptr<Scope> parent)
    : interpreter_(interpreter), outer_(interpreter.scope_) {
  interpreter.runtime_.step(kStepsPerScope);
  interpreter.scope_ = std::make_shared<Scope>();
  interpreter.scope_->parent = std::move(parent);
}

Interpreter::ScopeGuard::~ScopeGuard() {
  interpreter_.scope_ = std::move(outer_);
}

Interpreter::OutputGuard::OutputGuard(Interpreter& interpreter, Text& out)
    : interpreter_(interpreter), outer_(interpreter.out_) {
  interpreter.out_ = &out;
}

// The items of a loop with a condition: `for x in xs if test`.
class Interpreter::FilteredCursor : public Cursor {
 public:
  FilteredCursor(Interpreter& interpreter, const ast::For& node, std::unique_ptr<Cursor> source)
      : interpreter_(interpreter),
        node_(node),
        source_(std::move(source)),
        outer_(interpreter.scope_) {}

  bool next(Value& item) override {
    while (source_->next(item)) {
      const ScopeGuard scope(interpreter_, outer_);
      interpreter_.assign(node_.target, item);
      if (truth(interpreter_.evaluate(*node_.condition))) {
        return true;
      }
    }
    return false;
  }

 private:
  Interpreter& interpreter_;
  const ast::For& node_;
  std::unique_ptr<Cursor> source_;
  std::shared_ptr<Scope> outer_;
};

Interpreter::Flow Interpreter::run(const ast::Body& body) {
  const Runtime::DepthGuard depth(runtime_);
  for (const ast::StatementPtr& statement : body) {
    if (const Flow flow = run(*statement); flow != Flow::kNext) {
      return flow;
    }
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const ast::Statement& statement) {
  using ast::StatementKind;
  runtime_.step();
  line_ = statement.line;
  switch (statement.kind) {
    case StatementKind::kData: {
      const Text& text = static_cast<const ast::Data&>(statement).text;
      runtime_.charge_bytes(text.size());
      out_->append(text);
      check_output();
      break;
    }
    case StatementKind::kPrint:
      print(evaluate(*static_cast<const ast::ExprStatement&>(statement).expression));
      break;
    case StatementKind::kDo:
      evaluate(*static_cast<const ast::ExprStatement&>(statement).expression);
      break;
    case StatementKind::kIf:
      return run_if(static_cast<const ast::If&>(statement));
    case StatementKind::kFor:
      return run_for(static_cast<const ast::For&>(statement));
    case StatementKind::kSet: {
      const auto& node = static_cast<const ast::Set&>(statement);
      assign(node.target, evaluate(*node.value));
      break;
    }
    case StatementKind::kSetBlock:
      return run_set_block(static_cast<const ast::SetBlock&>(statement));
    case StatementKind::kMacro: {
      const auto& node = static_cast<const ast::Macro&>(statement);
      scope_->set(node.id, make_macro(node));
      break;
    }
    case StatementKind::kCallBlock:
      run_call_block(static_cast<const ast::CallBlock&>(statement));
      break;
    case StatementKind::kFilterBlock:
      return run_filter_block(static_cast<const ast::FilterBlock&>(statement));
    case StatementKind::kWith:
      return run_with(static_cast<const ast::With&>(statement));
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
    case StatementKind::kGeneration: {
      const ScopeGuard scope(*this, scope_);
      return run(static_cast<const ast::Generation&>(statement).body);
    }
  }
  return Flow::kNext;
}

void Interpreter::check_output() {
  if (out_->size() > kMaxTextBytes) {
    runtime_.charge_bytes(out_->size());
  }
}

void Interpreter::print(const Value& value) {
  append_str(runtime_, value, *out_);
  check_output();
}

Interpreter::Flow Interpreter::run_if(const ast::If& node) {
  for (const auto& [condition, body] : node.branches) {
    if (truth(evaluate(*condition))) {
      return run(body);
    }
  }
  return run(node.otherwise);
}

Interpreter::Flow Interpreter::run_for(const ast::For& node) {
  const Value iterable = evaluate(*node.iterable);
  std::unique_ptr<Cursor> cursor = iterate(runtime_, iterable);
  if (node.condition != nullptr) {
    cursor = std::make_unique<FilteredCursor>(*this, node, std::move(cursor));
  }
  auto loop = std::make_shared<LoopObject>(std::move(cursor), iterable.depth());
  const Value loop_value(Kind::kLoop, loop);
  Value item;
  while (loop->advance(item)) {
    const ScopeGuard scope(*this, scope_);
    scope_->set(kNameLoop, loop_value);
    assign(node.target, std::move(item));
    if (run(node.body) == Flow::kBreak) {
      break;
    }
  }
  if (loop->index0 < 0) {
    const ScopeGuard scope(*this, scope_);
    return run(node.otherwise);
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_set_block(const ast::SetBlock& node) {
  Text text;
  {
    const ScopeGuard scope(*this, scope_);
    const OutputGuard output(*this, text);
    if (const Flow flow = run(node.body); flow != Flow::kNext) {
      return flow;
    }
  }
  Value value = runtime_.string(std::move(text));
  if (node.filter != nullptr) {
    value = apply_filters(*node.filter, std::move(value));
  }
  assign(node.target, std::move(value));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_filter_block(const ast::FilterBlock& node) {
  Text text;
  {
    const ScopeGuard scope(*this, scope_);
    const OutputGuard output(*this, text);
    if (const Flow flow = run(node.body); flow != Flow::kNext) {
      return flow;
    }
  }
  print(apply_filters(*node.filter, runtime_.string(std::move(text))));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_with(const ast::With& node) {
  // The values see the outer scope only, not each other.
  std::vector<Value> values;
  values.reserve(node.assignments.size());
  for (const auto& [target, expression] : node.assignments) {
    values.push_back(evaluate(*expression));
  }
  const ScopeGuard scope(*this, scope_);
  for (size_t i = 0; i < values.size(); ++i) {
    assign(node.assignments[i].first, std::move(values[i]));
  }
  return run(node.body);
}

void Interpreter::run_call_block(const ast::CallBlock& node) {
  const Value caller = make_macro(*node.caller);
  print(evaluate_call(*node.call, &caller));
}

Value Interpreter::make_macro(const ast::Macro& definition) {
  runtime_.capture(scope_);
  auto macro = std::make_shared<MacroObject>();
  macro->definition = &definition;
  macro->closure = scope_;
  return Value(Kind::kMacro, std::move(macro));
}

void Interpreter::assign(const ast::Target& target, Value value) {
  runtime_.step();
  switch (target.kind) {
    case ast::Target::Kind::kName:
      scope_->set(target.id, std::move(value));
      return;
    case ast::Target::Kind::kAttribute:
      assign_attribute(target, std::move(value));
      return;
    case ast::Target::Kind::kTuple:
      break;
  }
  if (!is_iterable(value)) {
    fail_type(fmt::format("cannot unpack non-iterable {} object", type_name(value)));
  }
  std::vector<Value> items = collect(runtime_, value);
  if (items.size() != target.items.size()) {
    fail_type(items.size() < target.items.size()
                  ? fmt::format("not enough values to unpack (expected {}, got {})",
                                target.items.size(), items.size())
                  : fmt::format("too many values to unpack (expected {})", target.items.size()));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    assign(target.items[i], std::move(items[i]));
  }
}

void Interpreter::assign_attribute(const ast::Target& target, Value value) {
  const Value object = evaluate_name(target.id);
  if (!object.is(Kind::kNamespace)) {
    fail_type("cannot assign attribute on non-namespace object");
  }
  object.get<NamespaceObject>().set(target.attribute, std::move(value));
}

}  // namespace deltaserve::jinja
