// Expressions, from the loosest binding (inline if) to the tightest (unary signs).
#include "chat/jinja_parser_impl.h"
#include "chat/jinja_runtime.h"

namespace deltaserve::jinja {

using ast::ExprKind;
using ast::ExprPtr;

namespace {

// Whether the node is a literal of this truth: what follows it in `or`, `and` is never looked at.
bool is_constant(const ast::Expr& node, bool value) {
  return node.kind == ExprKind::kConst &&
         truth(static_cast<const ast::Const&>(node).value) == value;
}

}  // namespace

ExprPtr Parser::parse_expression(bool with_conditional) {
  const Nesting nesting(*this);
  return with_conditional ? parse_conditional() : parse_or();
}

ExprPtr Parser::parse_conditional() {
  const Nesting nesting(*this);
  uint32_t line = current().line;
  const size_t unknown_before = unknown_.size();
  ExprPtr result = parse_or();
  while (skip_name("if")) {
    auto node = std::make_unique<ast::Conditional>(line);
    node->condition = parse_or();
    node->then = std::move(result);
    if (skip_name("else")) {
      node->otherwise = parse_conditional();
    }
    unknown_.resize(unknown_before);
    set_depth(*node, {node->condition.get(), node->then.get(), node->otherwise.get()});
    result = std::move(node);
    line = current().line;
  }
  return result;
}

ExprPtr Parser::parse_or() {
  ExprPtr left = parse_and();
  while (current().is_name("or")) {
    auto node = std::make_unique<ast::Logical>(ExprKind::kOr, take().line);
    const size_t unknown_before = unknown_.size();
    node->left = std::move(left);
    node->right = parse_and();
    if (is_constant(*node->left, true)) {
      unknown_.resize(unknown_before);
    }
    set_depth(*node, {node->left.get(), node->right.get()});
    left = std::move(node);
  }
  return left;
}

ExprPtr Parser::parse_and() {
  ExprPtr left = parse_not();
  while (current().is_name("and")) {
    auto node = std::make_unique<ast::Logical>(ExprKind::kAnd, take().line);
    const size_t unknown_before = unknown_.size();
    node->left = std::move(left);
    node->right = parse_not();
    if (is_constant(*node->left, false)) {
      unknown_.resize(unknown_before);
    }
    set_depth(*node, {node->left.get(), node->right.get()});
    left = std::move(node);
  }
  return left;
}

ExprPtr Parser::parse_not() {
  const Nesting nesting(*this);
  if (!current().is_name("not")) {
    return parse_compare();
  }
  auto node = std::make_unique<ast::Unary>(ExprKind::kNot, take().line);
  node->operand = parse_not();
  set_depth(*node, {node->operand.get()});
  return node;
}

bool Parser::parse_compare_operator(CompareOp& op) {
  constexpr std::pair<std::string_view, CompareOp> kOperators[] = {
      {"==", CompareOp::kEqual},  {"!=", CompareOp::kNotEqual},
      {"<", CompareOp::kLess},    {"<=", CompareOp::kLessEqual},
      {">", CompareOp::kGreater}, {">=", CompareOp::kGreaterEqual}};
  for (const auto& [symbol, operation] : kOperators) {
    if (skip_operator(symbol)) {
      op = operation;
      return true;
    }
  }
  if (skip_name("in")) {
    op = CompareOp::kIn;
    return true;
  }
  if (current().is_name("not") && ahead().is_name("in")) {
    take();
    take();
    op = CompareOp::kNotIn;
    return true;
  }
  return false;
}

ExprPtr Parser::parse_compare() {
  const uint32_t line = current().line;
  ExprPtr first = parse_sum();
  CompareOp op = CompareOp::kEqual;
  if (!parse_compare_operator(op)) {
    return first;
  }
  auto node = std::make_unique<ast::Compare>(line);
  set_depth(*node, {first.get()});
  node->first = std::move(first);
  do {
    node->rest.emplace_back(op, parse_sum());
    set_depth(*node, {node->rest.back().second.get()});
  } while (parse_compare_operator(op));
  return node;
}

ExprPtr Parser::make_binary(BinaryOp op, ExprPtr left, ExprPtr right, uint32_t line) {
  auto node = std::make_unique<ast::Binary>(op, line);
  node->left = std::move(left);
  node->right = std::move(right);
  set_depth(*node, {node->left.get(), node->right.get()});
  return node;
}

ExprPtr Parser::parse_sum() {
  ExprPtr left = parse_concat();
  while (current().is_operator("+") || current().is_operator("-")) {
    const Token symbol = take();
    const BinaryOp op = symbol.text == "+" ? BinaryOp::kAdd : BinaryOp::kSubtract;
    left = make_binary(op, std::move(left), parse_concat(), symbol.line);
  }
  return left;
}

ExprPtr Parser::parse_concat() {
  const uint32_t line = current().line;
  ExprPtr first = parse_product();
  if (!current().is_operator("~")) {
    return first;
  }
  auto node = std::make_unique<ast::Items>(ExprKind::kConcat, line);
  node->items.push_back(std::move(first));
  while (skip_operator("~")) {
    node->items.push_back(parse_product());
  }
  set_depth(*node, node->items);
  return node;
}

ExprPtr Parser::parse_product() {
  constexpr std::pair<std::string_view, BinaryOp> kOperators[] = {{"*", BinaryOp::kMultiply},
                                                                  {"/", BinaryOp::kDivide},
                                                                  {"//", BinaryOp::kFloorDivide},
                                                                  {"%", BinaryOp::kModulo}};
  ExprPtr left = parse_power();
  while (true) {
    const auto* op = std::find_if(
        std::begin(kOperators), std::end(kOperators),
        [this](const auto& candidate) { return current().is_operator(candidate.first); });
    if (op == std::end(kOperators)) {
      return left;
    }
    const uint32_t line = take().line;
    left = make_binary(op->second, std::move(left), parse_power(), line);
  }
}

// Left to right, unlike Python: jinja2's grammar.
ExprPtr Parser::parse_power() {
  ExprPtr left = parse_unary();
  while (current().is_operator("**")) {
    const uint32_t line = take().line;
    left = make_binary(BinaryOp::kPower, std::move(left), parse_unary(), line);
  }
  return left;
}

ExprPtr Parser::parse_unary(bool with_filters) {
  const Nesting nesting(*this);
  ExprPtr node;
  if (current().is_operator("-") || current().is_operator("+")) {
    const Token sign = take();
    auto unary = std::make_unique<ast::Unary>(
        sign.text == "-" ? ExprKind::kNegate : ExprKind::kPlus, sign.line);
    unary->operand = parse_unary(false);
    set_depth(*unary, {unary->operand.get()});
    node = std::move(unary);
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filters ? parse_filters_and_tests(std::move(node)) : std::move(node);
}

}  // namespace deltaserve::jinja
