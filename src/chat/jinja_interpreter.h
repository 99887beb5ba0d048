// Walks the tree of a template and writes its text. One object renders once.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja_ast.h"
#include "chat/jinja_runtime.h"
#include "json/json.h"

namespace deltaserve::jinja {

class Interpreter {
 public:
  explicit Interpreter(const Template& source);

  // Makes a name known to the template; names that it never mentions cost nothing.
  void define(std::string_view name, const json::Value& value);
  void define_constant(std::string_view name, const std::string& value);

  // Throws TemplateFailure.
  Text render();

  // Of the node that was evaluated last, for messages.
  uint32_t line() const { return line_; }

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  // A new innermost scope until the end of a block.
  class ScopeGuard {
   public:
    ScopeGuard(Interpreter& interpreter, std::shared_ptr<Scope> parent);
    ScopeGuard(const ScopeGuard&) = delete;
    ScopeGuard& operator=(const ScopeGuard&) = delete;
    ~ScopeGuard();

   private:
    Interpreter& interpreter_;
    std::shared_ptr<Scope> outer_;
  };

  // Sends output to a text of its own until the end of a block.
  class OutputGuard {
   public:
    OutputGuard(Interpreter& interpreter, Text& out);
    OutputGuard(const OutputGuard&) = delete;
    OutputGuard& operator=(const OutputGuard&) = delete;
    ~OutputGuard() { interpreter_.out_ = outer_; }

   private:
    Interpreter& interpreter_;
    Text* outer_;
  };

  class FilteredCursor;

  // Statements.
  Flow run(const ast::Body& body);
  Flow run(const ast::Statement& statement);
  Flow run_if(const ast::If& node);
  Flow run_for(const ast::For& node);
  Flow run_set_block(const ast::SetBlock& node);
  Flow run_filter_block(const ast::FilterBlock& node);
  Flow run_with(const ast::With& node);
  void run_call_block(const ast::CallBlock& node);
  void print(const Value& value);
  void check_output();
  void assign(const ast::Target& target, Value value);
  void assign_attribute(const ast::Target& target, Value value);
  Value make_macro(const ast::Macro& definition);

  // Expressions.
  Value evaluate(const ast::Expr& expression);
  Value evaluate_name(uint32_t id);
  Value evaluate_items(const ast::Items& node);
  Value evaluate_dict(const ast::DictLiteral& node);
  Value evaluate_item(const ast::Item& node);
  Value evaluate_concat(const ast::Items& node);
  Value evaluate_compare(const ast::Compare& node);
  Value evaluate_conditional(const ast::Conditional& node);
  Value evaluate_filter(const ast::Filter& node);
  Value evaluate_test(const ast::Test& node);
  Value evaluate_call(const ast::Call& node, const Value* caller);
  Value apply_filter(const ast::Filter& node, const Value& input);
  Value apply_filters(const ast::Expr& chain, Value input);
  void fill_arguments(const ast::CallArguments& nodes, Arguments& arguments);
  void spread_keywords(const Value& value, Arguments& arguments);

  // Calls.
  Value call(const Value& callee, Arguments arguments);
  Value call_macro(const MacroObject& macro, Arguments arguments);
  void bind_parameters(const ast::Macro& definition, Arguments& arguments);
  void bind_specials(const ast::Macro& definition, Arguments& arguments);

  const Template& template_;
  Runtime runtime_;
  std::vector<std::pair<bool, Value>> globals_;  // by name: whether it is known, its value
  std::shared_ptr<Scope> scope_;
  Text* out_ = nullptr;
  uint32_t line_ = 1;
};

}  // namespace deltaserve::jinja
