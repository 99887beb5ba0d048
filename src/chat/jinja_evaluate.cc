// Expressions.
#include <fmt/format.h>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_interpreter.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"

namespace deltaserve::jinja {

Value Interpreter::evaluate(const ast::Expr& expression) {
  using ast::ExprKind;
  const Runtime::DepthGuard depth(runtime_);
  runtime_.step();
  line_ = expression.line;
  switch (expression.kind) {
    case ExprKind::kConst:
      return static_cast<const ast::Const&>(expression).value;
    case ExprKind::kName:
      return evaluate_name(static_cast<const ast::Name&>(expression).id);
    case ExprKind::kList:
    case ExprKind::kTuple:
      return evaluate_items(static_cast<const ast::Items&>(expression));
    case ExprKind::kDict:
      return evaluate_dict(static_cast<const ast::DictLiteral&>(expression));
    case ExprKind::kAttribute: {
      const auto& node = static_cast<const ast::Attribute&>(expression);
      return get_attribute(runtime_, evaluate(*node.object), node.name);
    }
    case ExprKind::kItem:
      return evaluate_item(static_cast<const ast::Item&>(expression));
    case ExprKind::kSlice:
      fail_type("a slice is not a value");
    case ExprKind::kCall:
      return evaluate_call(static_cast<const ast::Call&>(expression), nullptr);
    case ExprKind::kFilter:
      return evaluate_filter(static_cast<const ast::Filter&>(expression));
    case ExprKind::kTest:
      return evaluate_test(static_cast<const ast::Test&>(expression));
    case ExprKind::kNot:
      return Value::boolean(!truth(evaluate(*static_cast<const ast::Unary&>(expression).operand)));
    case ExprKind::kNegate:
      return negate(evaluate(*static_cast<const ast::Unary&>(expression).operand));
    case ExprKind::kPlus:
      return plus(evaluate(*static_cast<const ast::Unary&>(expression).operand));
    case ExprKind::kBinary: {
      const auto& node = static_cast<const ast::Binary&>(expression);
      const Value left = evaluate(*node.left);
      return binary(runtime_, node.op, left, evaluate(*node.right));
    }
    case ExprKind::kConcat:
      return evaluate_concat(static_cast<const ast::Items&>(expression));
    case ExprKind::kCompare:
      return evaluate_compare(static_cast<const ast::Compare&>(expression));
    case ExprKind::kAnd: {
      const auto& node = static_cast<const ast::Logical&>(expression);
      Value left = evaluate(*node.left);
      return truth(left) ? evaluate(*node.right) : left;
    }
    case ExprKind::kOr: {
      const auto& node = static_cast<const ast::Logical&>(expression);
      Value left = evaluate(*node.left);
      return truth(left) ? left : evaluate(*node.right);
    }
    case ExprKind::kConditional:
      return evaluate_conditional(static_cast<const ast::Conditional&>(expression));
  }
  return {};
}

Value Interpreter::evaluate_name(uint32_t id) {
  for (Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    if (const Value* value = scope->find(id)) {
      return *value;
    }
  }
  const auto& [known, value] = globals_[id];
  return known ? value
               : runtime_.undefined(fmt::format("{} is undefined", quote(template_.names[id])));
}

Value Interpreter::evaluate_items(const ast::Items& node) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const ast::ExprPtr& item : node.items) {
    items.push_back(evaluate(*item));
  }
  return node.kind == ast::ExprKind::kList ? runtime_.list(std::move(items))
                                           : runtime_.tuple(std::move(items));
}

Value Interpreter::evaluate_dict(const ast::DictLiteral& node) {
  std::vector<DictObject::Item> items;
  items.reserve(node.items.size());
  for (const auto& [key, value] : node.items) {
    Value evaluated_key = evaluate(*key);
    items.emplace_back(std::move(evaluated_key), evaluate(*value));
  }
  return runtime_.dict(std::move(items));
}

Value Interpreter::evaluate_item(const ast::Item& node) {
  const Value object = evaluate(*node.object);
  if (node.key->kind != ast::ExprKind::kSlice) {
    return get_item(runtime_, object, evaluate(*node.key));
  }
  const auto& slice = static_cast<const ast::Slice&>(*node.key);
  SliceParts parts;
  if (slice.start != nullptr) {
    parts.start = evaluate(*slice.start);
  }
  if (slice.stop != nullptr) {
    parts.stop = evaluate(*slice.stop);
  }
  if (slice.step != nullptr) {
    parts.step = evaluate(*slice.step);
  }
  return get_slice(runtime_, object, parts);
}

Value Interpreter::evaluate_concat(const ast::Items& node) {
  Text out;
  for (const ast::ExprPtr& item : node.items) {
    append_str(runtime_, evaluate(*item), out);
  }
  return runtime_.string(std::move(out));
}

Value Interpreter::evaluate_compare(const ast::Compare& node) {
  Value left = evaluate(*node.first);
  for (const auto& [op, operand] : node.rest) {
    Value right = evaluate(*operand);
    if (!compare(runtime_, op, left, right)) {
      return Value::boolean(false);
    }
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluate_conditional(const ast::Conditional& node) {
  if (truth(evaluate(*node.condition))) {
    return evaluate(*node.then);
  }
  if (node.otherwise != nullptr) {
    return evaluate(*node.otherwise);
  }
  return runtime_.undefined(
      fmt::format("the inline if-expression on line {} evaluated to false and no else section was "
                  "defined.",
                  node.line));
}

Value Interpreter::evaluate_filter(const ast::Filter& node) {
  return apply_filter(node, evaluate(*node.input));
}

Value Interpreter::apply_filter(const ast::Filter& node, const Value& input) {
  if (node.entry == nullptr) {
    fail_type(fmt::format("No filter named {} found.", quote(node.name)));
  }
  Arguments arguments;
  fill_arguments(node.arguments, arguments);
  line_ = node.line;
  return node.entry->call(runtime_, input, arguments);
}

Value Interpreter::apply_filters(const ast::Expr& chain, Value input) {
  const auto& node = static_cast<const ast::Filter&>(chain);
  const Runtime::DepthGuard depth(runtime_);
  if (node.input != nullptr) {
    input = apply_filters(*node.input, std::move(input));
  }
  return apply_filter(node, input);
}

Value Interpreter::evaluate_test(const ast::Test& node) {
  const Value input = evaluate(*node.input);
  if (node.entry == nullptr) {
    fail_type(fmt::format("No test named {} found.", quote(node.name)));
  }
  Arguments arguments;
  fill_arguments(node.arguments, arguments);
  line_ = node.line;
  return Value::boolean(node.entry->call(runtime_, input, arguments));
}

void Interpreter::fill_arguments(const ast::CallArguments& nodes, Arguments& arguments) {
  for (const ast::ExprPtr& node : nodes.positional) {
    arguments.positional.push_back(evaluate(*node));
  }
  for (const auto& [name, node] : nodes.named) {
    arguments.named.emplace_back(name, evaluate(*node));
  }
  if (nodes.star != nullptr) {
    for (Value& value : collect(runtime_, evaluate(*nodes.star))) {
      arguments.positional.push_back(std::move(value));
    }
  }
  if (nodes.double_star != nullptr) {
    spread_keywords(evaluate(*nodes.double_star), arguments);
  }
}

void Interpreter::spread_keywords(const Value& value, Arguments& arguments) {
  if (value.is_undefined()) {
    fail_undefined(value);
  }
  if (!value.is(Kind::kDict)) {
    fail_type(fmt::format("argument after ** must be a mapping, not {}", type_name(value)));
  }
  for (const auto& [key, item] : value.get<DictObject>().items) {
    runtime_.step();
    if (!key.is_string()) {
      fail_type("keywords must be strings");
    }
    for (const auto& [name, other] : arguments.named) {
      if (name == key.bytes()) {
        fail_type(fmt::format("got multiple values for keyword argument '{}'", name));
      }
    }
    arguments.named.emplace_back(std::string(key.bytes()), item);
  }
}

}  // namespace deltaserve::jinja
