// The parser's frame: tokens, names, limits, and the body of a template.
#include "chat/jinja_parser.h"

#include <fmt/format.h>

#include "chat/jinja_limits.h"
#include "chat/jinja_parser_impl.h"
#include "text/utf8.h"

namespace deltaserve::jinja {

Template parse_template(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    fail_syntax(1, fmt::format("the template has {} bytes, at most {} are accepted", source.size(),
                               kMaxSourceBytes));
  }
  if (!utf8::is_valid(source)) {
    fail_syntax(1, "the template is not valid UTF-8");
  }
  return Parser(source).parse();
}

Parser::Parser(std::string_view source) : tokens_(tokenize(source)) {
  for (const std::string_view name : {"loop", "caller", "kwargs", "varargs", "self"}) {
    name_id(std::string(name));
  }
}

Template Parser::parse() {
  Template result;
  result.body = parse_body({});
  reject_unknown(0);
  if (self_line_ != 0 && !binds_self_) {
    fail_syntax(self_line_, "the variable 'self' is not supported in chat templates");
  }
  result.names = std::move(names_);
  return result;
}

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
  // Several functions nest for one level of the tree.
  if (++parser_.nesting_ > 4 * kMaxSyntaxDepth) {
    parser_.fail("the template nests too deeply");
  }
}

Token Parser::take() {
  Token token = current();
  if (token.kind != TokenKind::kEnd) {
    ++position_;
  }
  return token;
}

bool Parser::skip_name(std::string_view name) {
  if (!current().is_name(name)) {
    return false;
  }
  ++position_;
  return true;
}

bool Parser::skip_operator(std::string_view symbol) {
  if (!current().is_operator(symbol)) {
    return false;
  }
  ++position_;
  return true;
}

void Parser::fail(const std::string& message) const {
  fail_syntax(current().line, message);
}

void Parser::fail_expected(std::string_view expected) const {
  if (current().kind == TokenKind::kEnd) {
    fail(fmt::format("unexpected end of template, expected {}.", expected));
  }
  fail(fmt::format("expected {}, got {}", expected, describe(current())));
}

Token Parser::expect(TokenKind kind) {
  if (current().kind != kind) {
    Token wanted;
    wanted.kind = kind;
    wanted.text = kind == TokenKind::kName ? "name" : "integer";
    fail_expected(describe(wanted));
  }
  return take();
}

void Parser::expect_operator(std::string_view symbol) {
  if (!skip_operator(symbol)) {
    fail_expected(fmt::format("'{}'", symbol));
  }
}

void Parser::expect_name(std::string_view name) {
  if (!skip_name(name)) {
    fail_expected(fmt::format("'{}'", name));
  }
}

uint32_t Parser::name_id(const std::string& name) {
  const auto [entry, added] = name_ids_.emplace(name, static_cast<uint32_t>(names_.size()));
  if (added) {
    names_.push_back(name);
  }
  return entry->second;
}

uint32_t Parser::bind_name(const std::string& name) {
  const uint32_t id = name_id(name);
  binds_self_ |= id == kNameSelf;
  return id;
}

void Parser::set_depth(ast::Expr& node, std::initializer_list<const ast::Expr*> children) {
  for (const ast::Expr* child : children) {
    if (child != nullptr) {
      node.depth = std::max(node.depth, child->depth + 1);
    }
  }
  if (node.depth > kMaxSyntaxDepth) {
    fail_syntax(node.line, "the expression nests too deeply");
  }
}

void Parser::set_depth(ast::Expr& node, const std::vector<ast::ExprPtr>& children) {
  for (const ast::ExprPtr& child : children) {
    set_depth(node, {child.get()});
  }
}

void Parser::set_depth(ast::Expr& node, const ast::Expr* child,
                       const ast::CallArguments& arguments) {
  set_depth(node, {child, arguments.star.get(), arguments.double_star.get()});
  set_depth(node, arguments.positional);
  for (const auto& [name, value] : arguments.named) {
    set_depth(node, {value.get()});
  }
}

void Parser::reject_unknown(size_t since) const {
  if (unknown_.size() > since) {
    throw TemplateFailure(FailureKind::kSyntax, unknown_[since]);
  }
}

}  // namespace deltaserve::jinja
