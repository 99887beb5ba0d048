// The recursive descent parser; expressions and statements are implemented in a file each.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja_ast.h"
#include "chat/jinja_lexer.h"

namespace deltaserve::jinja {

class Parser {
 public:
  explicit Parser(std::string_view source);
  Template parse();

 private:
  using NameList = std::initializer_list<std::string_view>;

  // How a tuple without parentheses is read.
  struct TupleMode {
    bool with_conditional = true;
    bool targets_only = false;       // names and literals, for assignments
    bool with_namespace = false;     // `ns.a` as a target
    bool in_parentheses = false;     // an empty tuple is allowed
    std::string_view end_name = {};  // also ends at this name
  };

  // Tokens.
  const Token& current() const { return tokens_[position_]; }
  const Token& ahead() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  Token take();
  bool skip_name(std::string_view name);
  bool skip_operator(std::string_view symbol);
  Token expect(TokenKind kind);
  void expect_operator(std::string_view symbol);
  void expect_name(std::string_view name);
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void fail_expected(std::string_view expected) const;

  uint32_t name_id(const std::string& name);
  uint32_t bind_name(const std::string& name);  // the same of a name that is given a value
  // Sets the node's depth from its children's and refuses trees that are too deep.
  void set_depth(ast::Expr& node, std::initializer_list<const ast::Expr*> children);
  void set_depth(ast::Expr& node, const std::vector<ast::ExprPtr>& children);
  void set_depth(ast::Expr& node, const ast::Expr* child, const ast::CallArguments& arguments);

  // Expressions.
  ast::ExprPtr parse_expression(bool with_conditional = true);
  ast::ExprPtr parse_conditional();
  ast::ExprPtr parse_or();
  ast::ExprPtr parse_and();
  ast::ExprPtr parse_not();
  ast::ExprPtr parse_compare();
  bool parse_compare_operator(CompareOp& op);
  ast::ExprPtr parse_sum();
  ast::ExprPtr parse_concat();
  ast::ExprPtr parse_product();
  ast::ExprPtr parse_power();
  ast::ExprPtr parse_unary(bool with_filters = true);
  ast::ExprPtr parse_primary(bool with_namespace = false);
  ast::ExprPtr parse_name(bool with_namespace);
  ast::ExprPtr parse_tuple() { return parse_tuple(TupleMode{}); }
  ast::ExprPtr parse_tuple(const TupleMode& mode);
  ast::ExprPtr parse_list();
  ast::ExprPtr parse_dict();
  ast::ExprPtr parse_postfix(ast::ExprPtr node);
  ast::ExprPtr parse_filters_and_tests(ast::ExprPtr node);
  ast::ExprPtr parse_subscript(ast::ExprPtr object);
  ast::ExprPtr parse_subscript_key();
  ast::CallArguments parse_arguments();
  ast::ExprPtr parse_call(ast::ExprPtr callee);
  ast::ExprPtr parse_filter_chain(ast::ExprPtr input, bool first_without_pipe);
  ast::ExprPtr parse_test(ast::ExprPtr input);
  std::string parse_dotted_name();
  void reject_unknown(size_t since) const;
  ast::ExprPtr make_binary(BinaryOp op, ast::ExprPtr left, ast::ExprPtr right, uint32_t line);

  // Statements.
  ast::Body parse_body(NameList end_names);
  ast::Body parse_block_body(NameList end_names, bool drop_end);
  ast::StatementPtr parse_statement();
  ast::StatementPtr parse_if();
  ast::StatementPtr parse_for();
  ast::StatementPtr parse_set();
  ast::StatementPtr parse_macro();
  ast::StatementPtr parse_call_block();
  ast::StatementPtr parse_filter_block();
  ast::StatementPtr parse_with();
  ast::StatementPtr parse_generation();
  void parse_print(ast::Body& body);
  void parse_signature(ast::Macro& macro);
  ast::Target parse_target(const TupleMode& mode);
  ast::Target to_target(const ast::Expr& expression);
  void refuse_loop_variable(const ast::Target& target) const;
  // Parses the body of a macro: a function of its own for `break` and for special names.
  void parse_macro_body(ast::Macro& macro, std::string_view end_name);

  // Counts the nesting of the parser's own recursion.
  class Nesting {
   public:
    explicit Nesting(Parser& parser);
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ~Nesting() { --parser_.nesting_; }

   private:
    Parser& parser_;
  };

  std::vector<Token> tokens_;
  size_t position_ = 0;
  uint32_t nesting_ = 0;
  // Unknown filters and tests seen, as messages. Inside conditions they fail only when reached, so
  // a conditional drops what its parts added; elsewhere reject_unknown() makes them errors.
  std::vector<std::string> unknown_;
  int loop_depth_ = 0;       // within the macro that is being parsed
  int for_depth_ = 0;        // around it, too
  uint32_t self_line_ = 0;   // of the first `self`, jinja2's view of a template's own blocks
  bool binds_self_ = false;  // as a name of the template's own
  std::vector<ast::Macro*> macros_;  // being parsed, outermost first
  std::vector<std::string> names_;
  std::map<std::string, uint32_t, std::less<>> name_ids_;
};

}  // namespace deltaserve::jinja
