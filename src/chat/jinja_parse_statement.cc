// Statements: what stands between {% and %}, and the text around it.
#include <fmt/format.h>

#include "chat/jinja_parser_impl.h"

namespace deltaserve::jinja {

using ast::StatementKind;
using ast::StatementPtr;

ast::Body Parser::parse_body(NameList end_names) {
  const Nesting nesting(*this);
  ast::Body body;
  while (current().kind != TokenKind::kEnd) {
    const Token token = take();
    if (token.kind == TokenKind::kData) {
      body.push_back(std::make_unique<ast::Data>(token.text, token.line));
    } else if (token.kind == TokenKind::kVariableBegin) {
      auto print = std::make_unique<ast::ExprStatement>(StatementKind::kPrint, token.line);
      print->expression = parse_tuple();
      body.push_back(std::move(print));
      expect(TokenKind::kVariableEnd);
    } else {
      if (std::any_of(end_names.begin(), end_names.end(),
                      [this](std::string_view name) { return current().is_name(name); })) {
        return body;
      }
      if (current().is_name("print")) {
        parse_print(body);
      } else {
        body.push_back(parse_statement());
      }
      expect(TokenKind::kBlockEnd);
    }
  }
  if (end_names.size() > 0) {
    fail(fmt::format("Unexpected end of template. Looking for '{}'.", *(end_names.end() - 1)));
  }
  return body;
}

ast::Body Parser::parse_block_body(NameList end_names, bool drop_end) {
  skip_operator(":");
  expect(TokenKind::kBlockEnd);
  ast::Body body = parse_body(end_names);
  if (drop_end) {
    take();
  }
  return body;
}

StatementPtr Parser::parse_statement() {
  const Token& token = current();
  if (token.kind != TokenKind::kName) {
    fail("tag name expected");
  }
  const std::string& tag = token.text;
  if (tag == "if") return parse_if();
  if (tag == "for") return parse_for();
  if (tag == "set") return parse_set();
  if (tag == "macro") return parse_macro();
  if (tag == "call") return parse_call_block();
  if (tag == "filter") return parse_filter_block();
  if (tag == "with") return parse_with();
  if (tag == "generation") return parse_generation();
  if (tag == "do") {
    auto statement = std::make_unique<ast::ExprStatement>(StatementKind::kDo, take().line);
    statement->expression = parse_tuple();
    return statement;
  }
  if (tag == "break" || tag == "continue") {
    if (loop_depth_ == 0) {
      fail(fmt::format("'{}' outside of a loop", tag));
    }
    const StatementKind kind = tag == "break" ? StatementKind::kBreak : StatementKind::kContinue;
    return std::make_unique<ast::Statement>(kind, take().line);
  }
  for (const std::string_view other :
       {"extends", "include", "import", "from", "block", "autoescape"}) {
    if (tag == other) {
      fail(fmt::format("the tag '{}' is not supported in chat templates", tag));
    }
  }
  fail(fmt::format("Encountered unknown tag '{}'.", tag));
}

void Parser::parse_print(ast::Body& body) {
  const uint32_t line = take().line;
  bool first = true;
  while (current().kind != TokenKind::kBlockEnd) {
    if (!first) {
      expect_operator(",");
    }
    first = false;
    auto print = std::make_unique<ast::ExprStatement>(StatementKind::kPrint, line);
    print->expression = parse_expression();
    body.push_back(std::move(print));
  }
}

StatementPtr Parser::parse_if() {
  auto node = std::make_unique<ast::If>(current().line);
  const size_t unknown_before = unknown_.size();
  TupleMode mode;
  mode.with_conditional = false;
  do {
    take();
    ast::ExprPtr condition = parse_tuple(mode);
    ast::Body body = parse_block_body({"elif", "else", "endif"}, false);
    node->branches.emplace_back(std::move(condition), std::move(body));
  } while (current().is_name("elif"));
  if (take().text == "else") {
    node->otherwise = parse_block_body({"endif"}, true);
  }
  unknown_.resize(unknown_before);
  return node;
}

StatementPtr Parser::parse_for() {
  auto node = std::make_unique<ast::For>(take().line);
  TupleMode target_mode;
  target_mode.end_name = "in";
  ++for_depth_;
  node->target = parse_target(target_mode);
  refuse_loop_variable(node->target);
  expect_name("in");
  TupleMode iterable_mode;
  iterable_mode.with_conditional = false;
  iterable_mode.end_name = "recursive";
  node->iterable = parse_tuple(iterable_mode);
  const size_t unknown_before = unknown_.size();
  if (skip_name("if")) {
    node->condition = parse_expression();
  }
  if (current().is_name("recursive")) {
    fail("recursive loops are not supported in chat templates");
  }
  ++loop_depth_;
  node->body = parse_block_body({"endfor", "else"}, false);
  --loop_depth_;
  if (take().text == "else") {
    node->otherwise = parse_block_body({"endfor"}, true);
  }
  --for_depth_;
  reject_unknown(unknown_before);
  return node;
}

StatementPtr Parser::parse_set() {
  const uint32_t line = take().line;
  TupleMode mode;
  mode.with_namespace = true;
  ast::Target target = parse_target(mode);
  refuse_loop_variable(target);
  if (skip_operator("=")) {
    auto node = std::make_unique<ast::Set>(line);
    node->target = std::move(target);
    node->value = parse_tuple();
    return node;
  }
  auto node = std::make_unique<ast::SetBlock>(line);
  node->target = std::move(target);
  const size_t unknown_before = unknown_.size();
  node->filter = parse_filter_chain(nullptr, false);
  node->body = parse_block_body({"endset"}, true);
  reject_unknown(unknown_before);
  return node;
}

void Parser::parse_signature(ast::Macro& macro) {
  expect_operator("(");
  while (!current().is_operator(")")) {
    const std::string name = expect(TokenKind::kName).text;
    if (std::find(macro.parameter_names.begin(), macro.parameter_names.end(), name) !=
        macro.parameter_names.end()) {
      fail(fmt::format("duplicate argument '{}'", name));
    }
    macro.parameters.push_back(bind_name(name));
    macro.parameter_names.push_back(name);
    if (skip_operator("=")) {
      macro.defaults.push_back(parse_expression());
    } else if (!macro.defaults.empty()) {
      fail("non-default argument follows default argument");
    }
    if (!skip_operator(",")) {
      break;
    }
  }
  expect_operator(")");
}

void Parser::parse_macro_body(ast::Macro& macro, std::string_view end_name) {
  const size_t unknown_before = unknown_.size();
  const int outer_loops = loop_depth_;
  loop_depth_ = 0;
  macros_.push_back(&macro);
  macro.body = parse_block_body({end_name}, true);
  macros_.pop_back();
  loop_depth_ = outer_loops;
  reject_unknown(unknown_before);
  const auto declares = [&macro](uint32_t id) {
    return std::find(macro.parameters.begin(), macro.parameters.end(), id) !=
           macro.parameters.end();
  };
  macro.uses_caller &= !declares(kNameCaller);
  macro.uses_kwargs &= !declares(kNameKwargs);
  macro.uses_varargs &= !declares(kNameVarargs);
}

StatementPtr Parser::parse_macro() {
  auto node = std::make_unique<ast::Macro>(take().line);
  node->name = expect(TokenKind::kName).text;
  node->id = bind_name(node->name);
  parse_signature(*node);
  parse_macro_body(*node, "endmacro");
  return node;
}

StatementPtr Parser::parse_call_block() {
  const uint32_t line = take().line;
  auto node = std::make_unique<ast::CallBlock>(line);
  node->caller = std::make_unique<ast::Macro>(line);
  if (current().is_operator("(")) {
    parse_signature(*node->caller);
  }
  ast::ExprPtr call = parse_expression();
  if (call->kind != ast::ExprKind::kCall) {
    fail_syntax(line, "expected call");
  }
  node->call.reset(static_cast<ast::Call*>(call.release()));
  parse_macro_body(*node->caller, "endcall");
  return node;
}

StatementPtr Parser::parse_filter_block() {
  auto node = std::make_unique<ast::FilterBlock>(take().line);
  const size_t unknown_before = unknown_.size();
  node->filter = parse_filter_chain(nullptr, true);
  node->body = parse_block_body({"endfilter"}, true);
  reject_unknown(unknown_before);
  return node;
}

StatementPtr Parser::parse_with() {
  auto node = std::make_unique<ast::With>(take().line);
  const size_t unknown_before = unknown_.size();
  while (current().kind != TokenKind::kBlockEnd) {
    if (!node->assignments.empty()) {
      expect_operator(",");
    }
    ast::Target target = parse_target(TupleMode{});
    expect_operator("=");
    node->assignments.emplace_back(std::move(target), parse_expression());
  }
  node->body = parse_block_body({"endwith"}, true);
  reject_unknown(unknown_before);
  return node;
}

StatementPtr Parser::parse_generation() {
  auto node = std::make_unique<ast::Generation>(take().line);
  const size_t unknown_before = unknown_.size();
  const int outer_loops = loop_depth_;
  loop_depth_ = 0;
  node->body = parse_block_body({"endgeneration"}, true);
  loop_depth_ = outer_loops;
  reject_unknown(unknown_before);
  return node;
}

}  // namespace deltaserve::jinja
