// Literals, names, tuples, subscripts, calls, filters and tests.
#include <fmt/format.h>

#include "chat/jinja_builtins.h"
#include "chat/jinja_parser_impl.h"
#include "chat/jinja_runtime.h"

namespace deltaserve::jinja {

using ast::ExprKind;
using ast::ExprPtr;

ExprPtr Parser::parse_name(bool with_namespace) {
  const Token token = take();
  const std::string& name = token.text;
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    return std::make_unique<ast::Const>(Value::boolean(name == "true" || name == "True"),
                                        token.line);
  }
  if (name == "none" || name == "None") {
    return std::make_unique<ast::Const>(Value(), token.line);
  }
  auto node = std::make_unique<ast::Name>(name_id(name), token.line);
  if (with_namespace && skip_operator(".")) {
    auto attribute = std::make_unique<ast::Attribute>(token.line);
    attribute->object = std::move(node);
    attribute->name = expect(TokenKind::kName).text;
    return attribute;
  }
  if (node->id == kNameSelf && self_line_ == 0) {
    self_line_ = token.line;
  }
  for (ast::Macro* macro : macros_) {
    macro->uses_caller |= node->id == kNameCaller;
    macro->uses_kwargs |= node->id == kNameKwargs;
    macro->uses_varargs |= node->id == kNameVarargs;
  }
  return node;
}

ExprPtr Parser::parse_primary(bool with_namespace) {
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::kName:
      return parse_name(with_namespace);
    case TokenKind::kInteger:
      return std::make_unique<ast::Const>(Value::integer(token.integer), take().line);
    case TokenKind::kFloat:
      return std::make_unique<ast::Const>(Value::floating(token.floating), take().line);
    case TokenKind::kString: {
      const uint32_t line = token.line;
      std::string text;
      while (current().kind == TokenKind::kString) {
        text += take().text;
      }
      return std::make_unique<ast::Const>(constant_string(std::move(text)), line);
    }
    default:
      break;
  }
  if (token.is_operator("(")) {
    take();
    TupleMode mode;
    mode.in_parentheses = true;
    ExprPtr node = parse_tuple(mode);
    expect_operator(")");
    return node;
  }
  if (token.is_operator("[")) {
    return parse_list();
  }
  if (token.is_operator("{")) {
    return parse_dict();
  }
  fail(fmt::format("unexpected {}", describe(token)));
}

ExprPtr Parser::parse_tuple(const TupleMode& mode) {
  const Nesting nesting(*this);
  const uint32_t line = current().line;
  const auto at_end = [&] {
    return current().kind == TokenKind::kVariableEnd || current().kind == TokenKind::kBlockEnd ||
           current().is_operator(")") ||
           (!mode.end_name.empty() && current().is_name(mode.end_name));
  };
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (!at_end()) {
    items.push_back(mode.targets_only ? parse_primary(mode.with_namespace)
                                      : parse_expression(mode.with_conditional));
    if (!skip_operator(",")) {
      break;
    }
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) {
    return std::move(items.front());
  }
  if (items.empty() && !mode.in_parentheses) {
    fail(fmt::format("expected an expression, got {}", describe(current())));
  }
  auto node = std::make_unique<ast::Items>(ExprKind::kTuple, line);
  node->items = std::move(items);
  set_depth(*node, node->items);
  return node;
}

ExprPtr Parser::parse_list() {
  auto node = std::make_unique<ast::Items>(ExprKind::kList, take().line);
  while (!current().is_operator("]")) {
    node->items.push_back(parse_expression());
    if (!skip_operator(",")) {
      break;
    }
  }
  expect_operator("]");
  set_depth(*node, node->items);
  return node;
}

ExprPtr Parser::parse_dict() {
  auto node = std::make_unique<ast::DictLiteral>(take().line);
  while (!current().is_operator("}")) {
    ExprPtr key = parse_expression();
    expect_operator(":");
    ExprPtr value = parse_expression();
    set_depth(*node, {key.get(), value.get()});
    node->items.emplace_back(std::move(key), std::move(value));
    if (!skip_operator(",")) {
      break;
    }
  }
  expect_operator("}");
  return node;
}

ExprPtr Parser::parse_postfix(ExprPtr node) {
  while (true) {
    if (current().is_operator(".") || current().is_operator("[")) {
      node = parse_subscript(std::move(node));
    } else if (current().is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr Parser::parse_filters_and_tests(ExprPtr node) {
  while (true) {
    if (current().is_operator("|")) {
      node = parse_filter_chain(std::move(node), false);
    } else if (current().is_name("is")) {
      node = parse_test(std::move(node));
    } else if (current().is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr Parser::parse_subscript(ExprPtr object) {
  const Token opening = take();
  if (opening.text == "." && current().kind == TokenKind::kName) {
    auto node = std::make_unique<ast::Attribute>(opening.line);
    node->name = take().text;
    set_depth(*node, {object.get()});
    node->object = std::move(object);
    return node;
  }
  auto node = std::make_unique<ast::Item>(opening.line);
  if (opening.text == ".") {
    const Token number = expect(TokenKind::kInteger);
    node->key = std::make_unique<ast::Const>(Value::integer(number.integer), number.line);
  } else {
    // Several keys, or none, are a tuple.
    std::vector<ExprPtr> keys;
    while (!current().is_operator("]")) {
      keys.push_back(parse_subscript_key());
      if (!skip_operator(",")) {
        break;
      }
    }
    if (keys.size() == 1) {
      node->key = std::move(keys.front());
    } else {
      auto tuple = std::make_unique<ast::Items>(ExprKind::kTuple, opening.line);
      tuple->items = std::move(keys);
      set_depth(*tuple, tuple->items);
      node->key = std::move(tuple);
    }
    expect_operator("]");
  }
  set_depth(*node, {object.get(), node->key.get()});
  node->object = std::move(object);
  return node;
}

ExprPtr Parser::parse_subscript_key() {
  const uint32_t line = current().line;
  ExprPtr start;
  if (!current().is_operator(":")) {
    start = parse_expression();
    if (!current().is_operator(":")) {
      return start;
    }
  }
  take();
  auto node = std::make_unique<ast::Slice>(line);
  node->start = std::move(start);
  const auto part_follows = [this] {
    return !current().is_operator(":") && !current().is_operator("]") &&
           !current().is_operator(",");
  };
  if (part_follows()) {
    node->stop = parse_expression();
  }
  if (skip_operator(":") && part_follows()) {
    node->step = parse_expression();
  }
  set_depth(*node, {node->start.get(), node->stop.get(), node->step.get()});
  return node;
}

ast::CallArguments Parser::parse_arguments() {
  const uint32_t line = current().line;
  expect_operator("(");
  ast::CallArguments arguments;
  const auto require = [line](bool condition) {
    if (!condition) {
      fail_syntax(line, "invalid syntax for function call expression");
    }
  };
  while (!current().is_operator(")")) {
    if (skip_operator("*")) {
      require(!arguments.star && !arguments.double_star);
      arguments.star = parse_expression();
    } else if (skip_operator("**")) {
      require(!arguments.double_star);
      arguments.double_star = parse_expression();
    } else if (current().kind == TokenKind::kName && ahead().is_operator("=")) {
      require(!arguments.double_star);
      const std::string name = take().text;
      take();
      for (const auto& [other, value] : arguments.named) {
        require(other != name);
      }
      arguments.named.emplace_back(name, parse_expression());
    } else {
      require(!arguments.star && !arguments.double_star && arguments.named.empty());
      arguments.positional.push_back(parse_expression());
    }
    if (!skip_operator(",")) {
      break;
    }
  }
  expect_operator(")");
  return arguments;
}

ExprPtr Parser::parse_call(ExprPtr callee) {
  auto node = std::make_unique<ast::Call>(current().line);
  node->arguments = parse_arguments();
  set_depth(*node, callee.get(), node->arguments);
  node->callee = std::move(callee);
  return node;
}

std::string Parser::parse_dotted_name() {
  std::string name = expect(TokenKind::kName).text;
  while (skip_operator(".")) {
    name = fmt::format("{}.{}", name, expect(TokenKind::kName).text);
  }
  return name;
}

ExprPtr Parser::parse_filter_chain(ExprPtr input, bool first_without_pipe) {
  while (first_without_pipe || skip_operator("|")) {
    first_without_pipe = false;
    auto node = std::make_unique<ast::Filter>(current().line);
    node->name = parse_dotted_name();
    node->entry = find_filter(node->name);
    if (node->entry == nullptr) {
      unknown_.push_back(fmt::format("line {}: No filter named '{}'.", node->line, node->name));
    }
    if (current().is_operator("(")) {
      node->arguments = parse_arguments();
    }
    set_depth(*node, input.get(), node->arguments);
    node->input = std::move(input);
    input = std::move(node);
  }
  return input;
}

ExprPtr Parser::parse_test(ExprPtr input) {
  auto node = std::make_unique<ast::Test>(take().line);
  const bool negated = skip_name("not");
  node->name = parse_dotted_name();
  node->entry = find_test(node->name);
  if (node->entry == nullptr) {
    unknown_.push_back(fmt::format("line {}: No test named '{}'.", node->line, node->name));
  }
  const Token& next = current();
  const bool literal_follows = next.kind == TokenKind::kName || next.kind == TokenKind::kString ||
                               next.kind == TokenKind::kInteger || next.kind == TokenKind::kFloat ||
                               next.is_operator("[") || next.is_operator("{");
  if (next.is_operator("(")) {
    node->arguments = parse_arguments();
  } else if (literal_follows && !next.is_name("else") && !next.is_name("or") &&
             !next.is_name("and")) {
    if (next.is_name("is")) {
      fail("You cannot chain multiple tests with is");
    }
    node->arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  set_depth(*node, input.get(), node->arguments);
  node->input = std::move(input);
  if (!negated) {
    return node;
  }
  auto inverse = std::make_unique<ast::Unary>(ExprKind::kNot, node->line);
  inverse->operand = std::move(node);
  set_depth(*inverse, {inverse->operand.get()});
  return inverse;
}

}  // namespace deltaserve::jinja
